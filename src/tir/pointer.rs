//! Pointers to typed elements in global memory, which TVM calls `T.handle("int64", "global")`.
//!
//! Such a type is that of a handle, with the type of the elements in its width: a mark above what a handle has, the family, and
//! the width as a power of two. No tensor holds pointers.

use crate::ir::{DType, DTypeCode};

/// What the width of a pointer to typed elements begins with.
const POINTER: u8 = 1 << 7;

/// The type of a pointer to elements. Vectors and widths that are no power of two have none.
pub fn pointer_to(element: DType) -> Option<DType> {
    let plain = element.lanes == 1 && element.bits.is_power_of_two() && element.bits <= 64;
    let bits = POINTER | (element.code as u8) << 3 | element.bits.trailing_zeros() as u8;
    plain.then_some(DType::new(DTypeCode::Handle, bits))
}

/// What a pointer of [`pointer_to`] points to.
pub fn pointee(pointer: DType) -> Option<DType> {
    use DTypeCode::{BFloat, E4M3Float, E5M2Float, Float, Handle, Int, UInt};
    let is_pointer = pointer.code == Handle && pointer.bits & POINTER != 0;
    let codes = [Int, UInt, Float, Handle, BFloat, E4M3Float, E5M2Float];
    let code = codes.into_iter().find(|code| *code as u8 == (pointer.bits & !POINTER) >> 3)?;
    is_pointer.then(|| DType::new(code, 1 << (pointer.bits & 7)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pointers_know_what_they_point_to() {
        for element in [DType::I64, DType::F32, DType::BOOL, DType::new(DTypeCode::E5M2Float, 8)] {
            assert_eq!(pointer_to(element).and_then(pointee), Some(element));
        }
        assert_eq!(pointee(DType::new(DTypeCode::Handle, 64)), None);
        assert_eq!(pointer_to(DType { lanes: 4, ..DType::F32 }), None);
    }
}
