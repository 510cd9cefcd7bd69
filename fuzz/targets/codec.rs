//! Every decoder of `boardlab-codec` on whatever bytes, and every compressor there and back.
//!
//! The first byte of an input says how much room there is, the rest is the stream or the text.

#![no_main]

use boardlab_codec::zlib::{Inflate, Jffs2Deflate, RawDeflate};
use boardlab_codec::{Bch, hamming, lzo, rtime, zstd};
use libfuzzer_sys::fuzz_target;
use std::cell::RefCell;

/// What is expensive to make.
struct Codecs {
    jffs2: Jffs2Deflate,
    raw: RawDeflate,
    inflate: Inflate,
    lzo: lzo::Lzo,
    zstd: zstd::Compressor,
    unzstd: zstd::Decompressor,
    bch: [Bch; 2],
    stream: Vec<u8>,
    back: Vec<u8>,
}

impl Codecs {
    fn new() -> Self {
        Self {
            jffs2: Jffs2Deflate::new(),
            raw: RawDeflate::ubifs(),
            inflate: Inflate::new(),
            lzo: lzo::Lzo::new(),
            zstd: zstd::Compressor::new(),
            unzstd: zstd::Decompressor::new(),
            bch: [4, 8].map(|strength| Bch::linux(512, strength).expect("fits")),
            stream: vec![0; 1 << 17],
            back: vec![0; 1 << 16],
        }
    }

    fn decode(&mut self, stream: &[u8], room: usize) {
        let back = &mut self.back[..room];
        let _ = rtime::decompress(stream, back);
        let _ = self.inflate.jffs2(stream, back);
        let _ = self.inflate.raw(stream, back);
        let _ = lzo::decompress(stream, back);
        let _ = self.unzstd.decompress(stream, back);
    }

    fn there_and_back(&mut self, text: &[u8], room: usize) {
        let stream = &mut self.stream[..room];
        if let Some(done) = self.jffs2.compress(text, stream) {
            assert!(done.produced < done.consumed);
            let back = &mut self.back[..done.consumed];
            assert_eq!(self.inflate.jffs2(&stream[..done.produced], back), Ok(done.consumed));
            assert!(*back == text[..done.consumed]);
        }
        if let Some(done) = rtime::compress(text, stream) {
            assert!(done.produced < done.consumed);
            let back = &mut self.back[..done.consumed];
            assert_eq!(rtime::decompress(&stream[..done.produced], back), Ok(()));
            assert!(*back == text[..done.consumed]);
        }
        let worst = lzo::worst_case(text.len());
        let length = self.lzo.compress(text, &mut self.stream[..worst]).expect("always enough");
        let back = &mut self.back[..text.len()];
        assert_eq!(lzo::decompress(&self.stream[..length], back), Ok(text.len()));
        assert!(*back == *text);
        if let Some(length) = self.raw.compress(text, &mut self.stream[..worst]) {
            assert_eq!(self.inflate.raw(&self.stream[..length], back), Ok(text.len()));
            assert!(*back == *text);
        }
        let worst = zstd::worst_case(text.len());
        let length = self.zstd.compress(text, &mut self.stream[..worst]).expect("always enough");
        assert_eq!(self.unzstd.decompress(&self.stream[..length], back), Ok(text.len()));
        assert!(*back == *text);
    }

    fn correct(&mut self, bytes: &[u8]) {
        let Some((data, code)) = bytes.split_at_checked(512) else { return };
        let back = &mut self.back[..512];
        for bch in &self.bch {
            let Some(code) = code.get(..bch.code_bytes()) else { continue };
            back.copy_from_slice(data);
            let _ = bch.decode(back, code);
        }
        let Some(&stored) = code.first_chunk() else { return };
        for step in [hamming::Step::Bytes256, hamming::Step::Bytes512] {
            back.copy_from_slice(data);
            let data = &mut back[..step.bytes()];
            let calculated = hamming::calculate(step, data);
            let _ = hamming::correct(step, data, stored, calculated);
        }
    }
}

thread_local! {
    static CODECS: RefCell<Codecs> = RefCell::new(Codecs::new());
}

fuzz_target!(|input: &[u8]| {
    let Some((&room, bytes)) = input.split_first() else { return };
    CODECS.with_borrow_mut(|codecs| {
        codecs.decode(bytes, usize::from(room) * 24);
        codecs.there_and_back(bytes, usize::from(room) * 24);
        codecs.correct(bytes);
    });
});
