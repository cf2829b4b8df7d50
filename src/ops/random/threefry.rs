//! Random numbers by Threefry-4x64 with twenty rounds (Salmon and others, "Parallel random numbers: as easy
//! as 1, 2, 3", 2011), in the variant of TVM's `topi.random`: a key is four key words, four counter words
//! (path and counter) and two words that mark the next free place of the path.

use super::kernel::U64;
use crate::ir::{DType, Tensor};
use crate::ops::kernel::{Lane, by_lane, count, read, read_scalar, write};
use crate::ops::tensor::ensure;
use crate::ops::{EvalError, KernelCx};

type Outputs = Result<Vec<Tensor>, EvalError>;

/// Rotation distances of the four-word cipher, for eight rounds; then they repeat.
const ROTATIONS: [[u32; 2]; 8] = [[14, 16], [52, 57], [23, 40], [5, 37], [25, 33], [46, 12], [58, 22], [32, 32]];

/// Makes the number of key words odd, so that no key is all zeros.
const PARITY: u64 = 0x1BD1_1BDA_A9FC_1A22;

/// Enciphers a counter.
fn encipher(key: &[u64; 4], counter: [u64; 4]) -> [u64; 4] {
    let all = [key[0], key[1], key[2], key[3], key.iter().fold(PARITY, |parity, word| parity ^ word)];
    let mut words = counter;
    for round in 0..20 {
        if round % 4 == 0 {
            let step = round / 4;
            for (j, word) in words.iter_mut().enumerate() {
                *word = word.wrapping_add(all[(step + j) % 5]);
            }
            words[3] = words[3].wrapping_add(step as u64);
        }
        let [a, b, c, d] = words;
        let ([left, right], mixed) = (ROTATIONS[round % 8], [a.wrapping_add(b), c.wrapping_add(d)]);
        words = [mixed[0], mixed[1] ^ d.rotate_left(right), mixed[1], mixed[0] ^ b.rotate_left(left)];
    }
    words
}

fn key(x: &Tensor) -> Result<[u64; 10], EvalError> {
    read::<u64>(x)?.try_into().map_err(|_| EvalError::new("a key has ten words"))
}

fn half(key: &[u64; 10], from: usize) -> [u64; 4] {
    [key[from], key[from + 1], key[from + 2], key[from + 3]]
}

/// The mark of the next free place of the path, one further to the right.
fn moved(a: u64, b: u64) -> [u64; 2] {
    match a {
        1 => [0, 1 << 63],
        0 => [0, b >> 1],
        _ => [a >> 1, 0],
    }
}

/// `n` random words and the next key.
fn words(gen_key: &[u64; 10], n: usize) -> ([u64; 10], Vec<u64>) {
    let mut state = *gen_key;
    // The counter would overflow: a new one begins at zero under another path or another key.
    if state[7] >= (u64::MAX - n as u64) {
        if state[8] == 0 && state[9] == 0 {
            // TVM enciphers a counter of which it sets only two words; the others are taken as zero.
            let fresh = encipher(&half(&state, 0), [u64::MAX, u64::MAX, 0, 0]);
            state = [fresh[0], fresh[1], fresh[2], fresh[3], 0, 0, 0, 0, 1 << 63, 0];
        } else {
            let [a, b] = moved(state[8], state[9]);
            state = [state[0], state[1], state[2], state[3], state[4] | state[8], state[5] | state[9], 0, 0, a, b];
        }
    }
    let (cipher, counter) = (half(&state, 0), half(&state, 4));
    let mut out = Vec::with_capacity(n);
    for block in 0..(n / 4) as u64 {
        out.extend(encipher(&cipher, counter.map(|word| word.wrapping_add(block))));
    }
    if n.is_multiple_of(4) {
        state[7] = state[7].wrapping_add(n as u64);
    } else {
        state[7] = state[7].wrapping_add((n / 4 * 4) as u64);
        out.extend(&encipher(&cipher, half(&state, 4))[..n % 4]);
        state[7] = state[7].wrapping_add(4);
    }
    state[6] = 0;
    (state, out)
}

fn wanted(cx: &KernelCx<'_>) -> Result<(Vec<i64>, usize), EvalError> {
    let shape = cx.ints("out_shape")?;
    let n = count(&shape, U64)?;
    Ok((shape, n))
}

pub(super) fn generate(cx: &KernelCx<'_>, x: &[Tensor]) -> Outputs {
    let (shape, n) = wanted(cx)?;
    let (next, out) = words(&key(&x[0])?, n);
    Ok(vec![write(U64, &[10], &next)?, write(U64, &shape, &out)?])
}

pub(super) fn split(_: &KernelCx<'_>, x: &[Tensor]) -> Outputs {
    let k = key(&x[0])?;
    let (left, right) = if k[8] == 0 && k[9] == 0 {
        let fresh = encipher(&half(&k, 0), half(&k, 4));
        let with_path = |path: u64| [fresh[0], fresh[1], fresh[2], fresh[3], path, 0, 0, 0, 1 << 62, 0];
        (with_path(0), with_path(1 << 63))
    } else {
        let [a, b] = moved(k[8], k[9]);
        let with_path = |p: u64, q: u64| [k[0], k[1], k[2], k[3], p, q, k[6], k[7], a, b];
        (with_path(k[4], k[5]), with_path(k[4] | k[8], k[5] | k[9]))
    };
    Ok(vec![write(U64, &[10], &left)?, write(U64, &[10], &right)?])
}

/// Converts random bits to numbers from 0 up to 1: they become the fraction of a float between one and two.
fn unit(bits: u64, dtype: DType) -> f64 {
    if dtype == DType::F64 {
        f64::from_bits(bits >> 12 | 0x3FF << 52) - 1.0
    } else {
        f64::from(f32::from_bits((bits as u32) >> 9 | 0x7F << 23) - 1.0)
    }
}

pub(super) fn uniform(cx: &KernelCx<'_>, x: &[Tensor]) -> Outputs {
    let (shape, n) = wanted(cx)?;
    let dtype = cx.store.attr_dtype(cx.attrs, "out_dtype").unwrap_or(DType::F32);
    let (next, bits) = words(&key(&x[0])?, n);
    let out = match dtype {
        DType::F64 => {
            let (low, high) = (read_scalar::<f64>(&x[1])?, read_scalar::<f64>(&x[2])?);
            write(dtype, &shape, &bits.iter().map(|b| unit(*b, dtype) * (high - low) + low).collect::<Vec<f64>>())?
        }
        _ => {
            let (low, high) = (read_scalar::<f32>(&x[1])?, read_scalar::<f32>(&x[2])?);
            write(dtype, &shape, &bits.iter().map(|b| unit(*b, dtype) as f32 * (high - low) + low).collect::<Vec<f32>>())?
        }
    };
    Ok(vec![write(U64, &[10], &next)?, out])
}

/// Box and Muller's transformation of two uniform numbers.
pub(super) fn normal(cx: &KernelCx<'_>, x: &[Tensor]) -> Outputs {
    let (shape, n) = wanted(cx)?;
    let dtype = cx.store.attr_dtype(cx.attrs, "out_dtype").unwrap_or(DType::F32);
    let (next, bits) = words(&key(&x[0])?, 2 * n);
    let (mean, scale) = (read_scalar::<f64>(&x[1])?, read_scalar::<f64>(&x[2])?);
    let out: Vec<f64> = (0..n)
        .map(|i| {
            let (radius, angle) = (1.0 - unit(bits[i], dtype), std::f64::consts::TAU * unit(bits[n + i], dtype));
            (-2.0 * radius.ln()).sqrt() * angle.sin() * scale + mean
        })
        .collect();
    by_lane!(dtype, T => {
        let out: Vec<T> = out.into_iter().map(T::from_f64).collect();
        Ok(vec![write(U64, &[10], &next)?, write(dtype, &shape, &out)?])
    })
}

/// The first index whose running total of probabilities exceeds a uniform number.
pub(super) fn multinomial(cx: &KernelCx<'_>, x: &[Tensor]) -> Outputs {
    let samples = cx.int("num_samples")?;
    let mut shape = x[1].shape.to_vec();
    let width = shape.pop().ok_or("multinomial needs probabilities along an axis")? as usize;
    shape.push(samples);
    let n = count(&shape, DType::I32)?;
    ensure!(width > 0, "multinomial needs at least one probability");
    let (next, bits) = words(&key(&x[0])?, n);
    let mut out = Vec::with_capacity(n);
    let mut bits = bits.into_iter();
    for row in read::<f32>(&x[1])?.chunks_exact(width) {
        let row: Vec<f32> = row.iter().map(|p| p.max(0.0)).collect();
        let all: f32 = row.iter().sum();
        let mut totals = Vec::with_capacity(width);
        row.iter().fold(0.0, |total, p| {
            totals.push(total + p / all);
            total + p / all
        });
        for bits in bits.by_ref().take(samples as usize) {
            let drawn = unit(bits, DType::F32) as f32;
            // TVM takes the smallest positive difference, and 1 stands for those that are not.
            let difference = |total: &f32| if total - drawn > 0.0 { total - drawn } else { 1.0 };
            let best = totals
                .iter()
                .enumerate()
                .fold((0, f32::MAX), |best, (i, total)| if difference(total) < best.1 { (i, difference(total)) } else { best });
            out.push(best.0 as i64);
        }
    }
    Ok(vec![write(U64, &[10], &next)?, write(DType::I32, &shape, &out)?])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_lead_to_different_numbers_in_the_unit_interval() {
        let start = [1, 2, 3, 4, 0, 0, 0, 0, 1 << 63, 0];
        let (next, first) = words(&start, 7);
        assert_eq!(next[7], 8);
        let (_, second) = words(&next, 7);
        assert!(first.iter().all(|word| !second.contains(word)));
        assert!(first.iter().all(|word| (0.0..1.0).contains(&unit(*word, DType::F32))));
    }

    #[test]
    fn the_mark_moves_through_both_words() {
        assert_eq!(moved(1 << 63, 0), [1 << 62, 0]);
        assert_eq!(moved(1, 0), [0, 1 << 63]);
        assert_eq!(moved(0, 2), [0, 1]);
    }
}
