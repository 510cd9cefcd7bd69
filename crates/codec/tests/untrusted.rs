//! Decoders on arbitrary bytes: no panic, no write outside the output, no invalid result.

use boardlab_codec::zlib::{Inflate, Jffs2Deflate, RawDeflate};
use boardlab_codec::{Bch, hamming, lzo, rtime, zstd};
use proptest::collection::vec;
use proptest::prelude::*;

/// Bytes as a program or a log has them: pieces that come again, runs, and noise.
fn text() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        vec(any::<u8>(), 0..40),
        (any::<u8>(), 0..600_usize).prop_map(|(byte, length)| vec![byte; length]),
        vec(0..4_u8, 0..200),
    ];
    (vec(piece, 1..8), vec(0..8_usize, 0..24)).prop_map(|(pieces, order)| {
        order.iter().flat_map(|&at| pieces[at % pieces.len()].clone()).collect()
    })
}

/// A stream that was whole once: cut, with bytes changed.
fn damage(mut stream: Vec<u8>, changes: &[(prop::sample::Index, u8)], cut: usize) -> Vec<u8> {
    for (place, value) in changes {
        if !stream.is_empty() {
            let place = place.index(stream.len());
            stream[place] ^= value;
        }
    }
    stream.truncate(stream.len().saturating_sub(cut));
    stream
}

/// Decodes into the middle of a buffer; the rest of it has to stay as it is.
fn guarded<T>(room: usize, decode: impl FnOnce(&mut [u8]) -> T) -> T {
    const GUARD: usize = 64;
    let mut buffer = vec![0xA5; room + 2 * GUARD];
    let result = decode(&mut buffer[GUARD..GUARD + room]);
    let outside = buffer[..GUARD].iter().chain(&buffer[GUARD + room..]);
    assert!(outside.copied().all(|byte| byte == 0xA5), "written outside");
    result
}

/// Every decompressor.
fn decompress_all(stream: &[u8], room: usize) {
    let _ = guarded(room, |output| rtime::decompress(stream, output));
    let mut inflate = Inflate::new();
    for length in [
        guarded(room, |output| inflate.jffs2(stream, output)),
        guarded(room, |output| inflate.raw(stream, output)),
        guarded(room, |output| lzo::decompress(stream, output)),
        guarded(room, |output| zstd::Decompressor::new().decompress(stream, output)),
    ] {
        assert!(length.is_ok_and(|length| length <= room) || length.is_err());
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn noise_never_breaks_a_decompressor(stream in vec(any::<u8>(), 0..300), room in 0..5000_usize) {
        decompress_all(&stream, room);
    }

    #[test]
    fn damaged_streams_never_break_a_decompressor(
        page in text(),
        changes in vec((any::<prop::sample::Index>(), any::<u8>()), 0..6),
        cut in 0..20_usize,
        less in 0..20_usize,
    ) {
        let mut output = vec![0; lzo::worst_case(page.len())];
        let room = page.len().saturating_sub(less);
        let mut streams = Vec::new();
        if let Some(done) = Jffs2Deflate::new().compress(&page, &mut output) {
            streams.push(output[..done.produced].to_vec());
        }
        if let Some(done) = rtime::compress(&page, &mut output) {
            streams.push(output[..done.produced].to_vec());
        }
        if let Some(length) = lzo::Lzo::new().compress(&page, &mut output) {
            streams.push(output[..length].to_vec());
        }
        if let Some(length) = RawDeflate::ubifs().compress(&page, &mut output) {
            streams.push(output[..length].to_vec());
        }
        if let Some(length) = zstd::Compressor::new().compress(&page, &mut output) {
            streams.push(output[..length].to_vec());
        }
        for stream in streams {
            decompress_all(&damage(stream, &changes, cut), room);
        }
    }

    #[test]
    fn whatever_is_compressed_comes_back(page in text(), room in 0..6000_usize) {
        let mut back = vec![0; page.len()];
        let mut inflate = Inflate::new();
        let mut stream = vec![0; room];
        if let Some(done) = guarded(room, |output| {
            let done = Jffs2Deflate::new().compress(&page, output);
            stream.copy_from_slice(output);
            done
        }) {
            prop_assert!(done.produced < done.consumed && done.produced <= room);
            let back = &mut back[..done.consumed];
            prop_assert_eq!(inflate.jffs2(&stream[..done.produced], back), Ok(done.consumed));
            prop_assert_eq!(&*back, &page[..done.consumed]);
        }
        if let Some(done) = rtime::compress(&page, &mut stream) {
            prop_assert!(done.produced < done.consumed && done.produced <= room);
            let back = &mut back[..done.consumed];
            prop_assert_eq!(rtime::decompress(&stream[..done.produced], back), Ok(()));
            prop_assert_eq!(&*back, &page[..done.consumed]);
        }
        if let Some(length) = lzo::Lzo::new().compress(&page, &mut stream) {
            prop_assert_eq!(lzo::decompress(&stream[..length], &mut back), Ok(page.len()));
            prop_assert_eq!(&back, &page);
        }
        if let Some(length) = RawDeflate::ubifs().compress(&page, &mut stream) {
            prop_assert_eq!(inflate.raw(&stream[..length], &mut back), Ok(page.len()));
            prop_assert_eq!(&back, &page);
        }
        if let Some(length) = guarded(room, |output| {
            let done = zstd::Compressor::new().compress(&page, output);
            stream.copy_from_slice(output);
            done
        }) {
            let found = zstd::Decompressor::new().decompress(&stream[..length], &mut back);
            prop_assert_eq!(found, Ok(page.len()));
            prop_assert_eq!(&back, &page);
        }
    }

    #[test]
    fn the_worst_case_is_always_enough(page in text()) {
        let mut output = vec![0; lzo::worst_case(page.len())];
        prop_assert!(lzo::Lzo::new().compress(&page, &mut output).is_some());
        let mut output = vec![0; zstd::worst_case(page.len())];
        prop_assert!(zstd::Compressor::new().compress(&page, &mut output).is_some());
    }

    #[test]
    fn codes_answer_any_bytes(
        mut data in vec(any::<u8>(), 512),
        code in vec(any::<u8>(), 13),
        stored in any::<[u8; 3]>(),
    ) {
        let read = data.clone();
        for step in [hamming::Step::Bytes256, hamming::Step::Bytes512] {
            let data = &mut data[..step.bytes()];
            let calculated = hamming::calculate(step, data);
            let found = hamming::correct(step, data, stored, calculated);
            let changed = data.iter().zip(&read).map(|(a, b)| (a ^ b).count_ones()).sum::<u32>();
            let corrected = matches!(found, Ok(hamming::Correction::Data { .. }));
            prop_assert_eq!(changed, u32::from(corrected));
            data.copy_from_slice(&read[..step.bytes()]);
        }
        for strength in [4, 8] {
            let bch = Bch::linux(512, strength).unwrap();
            let found = bch.decode(&mut data, &code[..bch.code_bytes()]);
            let changed = data.iter().zip(&read).map(|(a, b)| (a ^ b).count_ones()).sum::<u32>();
            prop_assert!(changed <= found.unwrap_or(0));
            data.copy_from_slice(&read);
        }
    }
}
