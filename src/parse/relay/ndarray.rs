//! Tensors as TVM saves them (`include/tvm/runtime/ndarray.h`, `SaveDLTensor`), in base64.

use crate::ir::{DType, DTypeCode, Tensor};
use base64::Engine;

/// First word of every saved tensor.
const MAGIC: u64 = 0xDD5E_40F0_96B4_A13F;

/// Reads a tensor: magic number, reserved word, device, rank, element type, extents, size in bytes,
/// elements, all little endian.
pub(super) fn decode(base64: &str) -> Result<Tensor, String> {
    // TVM breaks long lines on some platforms.
    let compact: String;
    let text = if base64.bytes().any(|b| b.is_ascii_whitespace()) {
        compact = base64.split_ascii_whitespace().collect();
        &compact
    } else {
        base64
    };
    let bytes = base64::engine::general_purpose::STANDARD.decode(text).map_err(|e| format!("its tensor is not base64: {e}"))?;
    let mut reader = Reader { bytes: &bytes };
    read(&mut reader).ok_or("its tensor ends early")?
}

struct Reader<'b> {
    bytes: &'b [u8],
}

impl Reader<'_> {
    fn take<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (head, tail) = self.bytes.split_first_chunk::<N>()?;
        self.bytes = tail;
        Some(*head)
    }
}

/// Reads an array; `None` when the bytes end early.
fn read(reader: &mut Reader<'_>) -> Option<Result<Tensor, String>> {
    if u64::from_le_bytes(reader.take()?) != MAGIC {
        return Some(Err("its tensor does not begin as a tensor of TVM".into()));
    }
    let _reserved = reader.take::<8>()?;
    let _device = reader.take::<8>()?;
    let rank = i32::from_le_bytes(reader.take()?);
    let [code, bits] = reader.take()?;
    let lanes = u16::from_le_bytes(reader.take()?);
    let Some(code) = code_of(code) else { return Some(Err(format!("its tensor has elements of an unknown kind ({code})"))) };
    let dtype = DType { code, bits, lanes };
    let mut shape = Vec::new();
    for _ in 0..rank {
        shape.push(i64::from_le_bytes(reader.take()?));
    }
    let size = i64::from_le_bytes(reader.take()?);
    let count = shape.iter().try_fold(1_i64, |n, d| if *d < 0 { None } else { n.checked_mul(*d) });
    let expected = count.and_then(|n| n.checked_mul(dtype.bytes() as i64));
    if expected != Some(size) || usize::try_from(size).ok() != Some(reader.bytes.len()) {
        return Some(Err(format!("its tensor of shape {shape:?} and type {dtype} does not have {} bytes", reader.bytes.len())));
    }
    Some(Ok(Tensor::new(dtype, shape, reader.bytes)))
}

fn code_of(code: u8) -> Option<DTypeCode> {
    Some(match code {
        0 => DTypeCode::Int,
        1 => DTypeCode::UInt,
        2 => DTypeCode::Float,
        3 => DTypeCode::Handle,
        4 => DTypeCode::BFloat,
        6 => DTypeCode::E4M3Float,
        7 => DTypeCode::E5M2Float,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn saved(shape: &[i64], data: &[u8]) -> Vec<u8> {
        let mut bytes = MAGIC.to_le_bytes().to_vec();
        bytes.extend([0; 8]);
        bytes.extend([1, 0, 0, 0, 0, 0, 0, 0]);
        bytes.extend((shape.len() as i32).to_le_bytes());
        bytes.extend([0, 16, 1, 0]);
        bytes.extend(shape.iter().flat_map(|d| d.to_le_bytes()));
        bytes.extend((data.len() as i64).to_le_bytes());
        bytes.extend(data);
        bytes
    }

    fn encoded(bytes: &[u8]) -> String {
        base64::engine::general_purpose::STANDARD.encode(bytes)
    }

    #[test]
    fn a_saved_tensor_is_read() {
        let tensor = decode(&encoded(&saved(&[2], &[1, 0, 2, 0]))).unwrap();
        assert_eq!((tensor.dtype, &*tensor.shape, tensor.data.as_deref()), (DType::I16, &[2][..], Some(&[1, 0, 2, 0][..])));
    }

    #[test]
    fn every_shortened_or_lying_tensor_is_refused() {
        let bytes = saved(&[2], &[1, 0, 2, 0]);
        for len in 0..bytes.len() {
            assert!(decode(&encoded(&bytes[..len])).is_err(), "{len}");
        }
        for shape in [&[3][..], &[-1, -2], &[i64::MAX, i64::MAX], &[1 << 62, 1 << 62, 0]] {
            assert!(decode(&encoded(&saved(shape, &[1, 0, 2, 0]))).is_err(), "{shape:?}");
        }
    }
}
