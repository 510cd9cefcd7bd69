//! Literal bytes of every kind of node, as Linux 6.1 has written them to NAND (orphans: made by hand),
//! and what a reader must reject.

use super::data::Data;
use super::dirent::Dirent;
use super::index::{Branch, IndexNode};
use super::inode::InodeNode;
use super::journal::{CommitStart, Reference, Truncation};
use super::key::{Key, KeyType, r5, test_hash};
use super::master::Master;
use super::orphan::OrphanNode;
use super::padding::{self, Padding};
use super::superblock::Superblock;
use super::{Group, HEADER_SIZE, Header, Malformed, NodeType, check_checksum, seal, usize_of};
use crate::test_volume::hex;
use boardlab_ubi::LebIndex;
use boardlab_vfs::Timestamp;

/// The kernel's superblock of an empty volume of 940 LEBs of 15,872 bytes.
pub(crate) const SUPERBLOCK: &str = "311810068ca70f330200000000000000001000000600000000000000080000000\
    0020000003e0000ac030000ac03000000ee09000000000006000000020000000200000001000000080000000001000005\
    000000010000000000000000000000b3390b000000000000ca9a3bd9db39a8416c48bca7cd94bdebb3c843";
/// Its first master node.
pub(crate) const MASTER: &str = "31181006e52eb64d0500000000000000000200000700000040000000000000000000\
    00000000000000000000030000000d00000000000000300000000f0000000d000000000200003000000000000000007ee0\
    00000000003003000000000000a0000000000000000000000000000000001c41000000000009000000ff0f000009000000\
    00120000090000000a10000000000000000000000d0000009d03000001000000ac030000";
/// Its root indexing node.
pub(crate) const INDEX: &str = "3118100699bde2c1040000000000000030000000090000000100\
    00000e00000000000000a00000000100000000000000";
/// Its root inode.
pub(crate) const ROOT: &str = "31181006841381050300000000000000a0000000000000000100000000000000000000\
    00000000000100000000000000a000000000000000176d076b00000000176d076b00000000176d076b0000000000000000\
    0000000000000000020000000000000000000000ed41000001000000000000000000000000000000000000000000000000\
    00000000000000000000000000000000000000000000000000";
const LINK: &str = "3118100669d232aa0b00000000000000a7000000000100004100000000000000000000000000000008\
    0000000000000007000000000000002f6d076b000000002f6d076b000000002f6d076b0000000000000000000000000000\
    0000010000000000000000000000ffa1000001000000070000000000000000000000000000000000000000000000000000\
    0000000000000000000000000000000000000000006e6f7768657265";
const DATA: &str = "3118100669129691da0100000000000031000000010000005e0000000000002000000000000000000\
    10000000000000067";
const LZO_DATA: &str = "31181006f46a56a5ff050000000000004e000000010200005200000001000020000000000000000\
    0e702000001000000020000000000200000b510000b0000000000000000000000000000110000";
const DIRENT: &str = "31181006073920f00a000000000000003a0000000201000001000000f24200400000000000000000\
    410000000000000000010100ed0cc6876100";
const XATTR: &str = "3118100604cf9369a1020000000000003f00000003010000590000006bf7b47900000000000000007\
    100000000000000000006002958d030757365722e6200";
const TRUNCATION: &str = "3118100620d43bf354000000000000003800000004020000490000000000000000000000000000\
    0001000000000000000000000000000000";
const PADDING: &str = "31181006366f6ca400000000000000001c0000000500000044010000";
const REFERENCE: &str = "3118100612339502bf0000000000000040000000080000000f000000002200000200000000000000\
    000000000000000000000000000000000000000000000000";
const COMMIT_START: &str = "3118100655123915bd00000000000000200000000a0000000200000000000000";
const ORPHANS: &str = "31181006dda959524d00000000000000300000000b000000050000000000008046000000000000004\
    700000000000000";

/// The node in these digits, with zeros up to its length and, in a superblock, the number that says
/// that there is no hash.
pub(crate) fn node(digits: &str) -> Vec<u8> {
    let mut bytes = hex(digits);
    let header = Header::parse(&bytes).unwrap();
    bytes.resize(usize_of(header.len), 0);
    if header.node_type == NodeType::Superblock {
        bytes[256..258].fill(0xFF);
    }
    check_checksum(&bytes, &header).unwrap();
    bytes
}

/// `emitted` with the header of `bytes`; then both must be the same.
fn assert_same(mut emitted: Vec<u8>, bytes: &[u8]) {
    let header = Header::parse(bytes).unwrap();
    assert_eq!(Header::parse(&emitted).unwrap().node_type, header.node_type);
    Header::fill(&mut emitted, header.sqnum, header.group);
    if header.node_type == NodeType::Padding {
        emitted[8..16].fill(0);
    }
    seal(&mut emitted);
    assert_eq!(emitted, bytes);
}

/// Parses a node of any kind and emits it again; `None` for kinds that have no content here.
pub(crate) fn emitted_again(bytes: &[u8]) -> Result<Option<Vec<u8>>, Malformed> {
    Ok(Some(match Header::parse(bytes)?.node_type {
        NodeType::Inode => InodeNode::parse(bytes)?.emit(),
        NodeType::Data => Data::parse(bytes)?.emit(),
        NodeType::Dirent | NodeType::Xattr => Dirent::parse(bytes)?.emit(),
        NodeType::Truncation => Truncation::parse(bytes)?.emit(),
        NodeType::Padding => Padding::parse(bytes)?.emit(),
        NodeType::Superblock => Superblock::parse(bytes)?.emit(),
        NodeType::Master => Master::parse(bytes)?.emit(),
        NodeType::Reference => Reference::parse(bytes)?.emit(),
        NodeType::Index => IndexNode::parse(bytes, 8)?.emit(),
        NodeType::CommitStart => CommitStart::parse(bytes)?.emit(),
        NodeType::Orphan => OrphanNode::parse(bytes)?.emit(),
        NodeType::Authentication | NodeType::Signature => return Ok(None),
    }))
}

const ALL: [&str; 14] = [
    SUPERBLOCK,
    MASTER,
    INDEX,
    ROOT,
    LINK,
    DATA,
    LZO_DATA,
    DIRENT,
    XATTR,
    TRUNCATION,
    PADDING,
    REFERENCE,
    COMMIT_START,
    ORPHANS,
];

fn all() -> impl Iterator<Item = Vec<u8>> {
    ALL.into_iter().map(node)
}

#[test]
fn every_node_of_the_kernel_is_emitted_with_the_same_bytes() {
    for bytes in all() {
        assert_same(emitted_again(&bytes).unwrap().unwrap(), &bytes);
    }
}

#[test]
fn a_header_has_sequence_number_length_kind_and_group() {
    let header = Header::parse(&node(TRUNCATION)).unwrap();
    let expected =
        Header { sqnum: 84, len: 56, node_type: NodeType::Truncation, group: Group::Last };
    assert_eq!(header, expected);
    assert_eq!(Header::parse(&node(DIRENT)).unwrap().group, Group::In);
}

#[test]
fn the_fields_of_an_inode_are_those_that_the_kernel_wrote() {
    let link = InodeNode::parse(&node(LINK)).unwrap();
    let time = Timestamp::seconds(0x6B07_6D2F);
    assert_eq!(link.key, Key::inode(65));
    assert_eq!((link.creat_sqnum, link.size, link.mode, link.nlink), (8, 7, 0o120_777, 1));
    assert_eq!((link.accessed, link.changed, link.modified), (time, time, time));
    assert_eq!((link.flags, link.data.as_slice()), (1, b"nowhere".as_slice()));
}

#[test]
fn the_node_of_a_deleted_inode_may_lack_its_data() {
    let mut bytes = InodeNode { nlink: 0, ..InodeNode::parse(&node(LINK)).unwrap() }.emit();
    bytes.truncate(160);
    Header::fill(&mut bytes, 1, Group::Last);
    assert_eq!(InodeNode::parse(&bytes).unwrap().data, b"");
    bytes[92] = 1;
    let wrong = Malformed::Field { name: "data_len", value: 7 };
    assert_eq!(InodeNode::parse(&bytes), Err(wrong));
}

#[test]
fn the_fields_of_data_and_entries_are_those_that_the_kernel_wrote() {
    let bytes = node(DATA);
    let data = Data::parse(&bytes).unwrap();
    assert_eq!((data.key, data.size, data.compr_type), (Key::data(94, 0), 1, 0));
    assert_eq!(data.data, b"g");
    let bytes = node(LZO_DATA);
    let data = Data::parse(&bytes).unwrap();
    assert_eq!((data.key, data.size, data.compr_type), (Key::data(82, 1), 743, 1));
    let entry = Dirent::parse(&node(DIRENT)).unwrap();
    assert_eq!((entry.key, entry.inum, entry.itype), (Key::dirent(1, r5(b"a")), 65, 1));
    assert_eq!((entry.name.as_slice(), entry.cookie), (b"a".as_slice(), 0x87C6_0CED));
    let entry = Dirent::parse(&node(XATTR)).unwrap();
    assert_eq!((entry.key, entry.inum), (Key::xattr(89, r5(b"user.b")), 113));
    assert_eq!(entry.name, b"user.b");
}

#[test]
fn the_fields_of_the_journal_are_those_that_the_kernel_wrote() {
    let cut = Truncation { inum: 73, old_size: 1, new_size: 0 };
    assert_eq!(Truncation::parse(&node(TRUNCATION)), Ok(cut));
    let reference = Reference { lnum: LebIndex(15), offs: 0x2200, jhead: 2 };
    assert_eq!(Reference::parse(&node(REFERENCE)), Ok(reference));
    assert_eq!(CommitStart::parse(&node(COMMIT_START)), Ok(CommitStart { cmt_no: 2 }));
    let orphans = OrphanNode { cmt_no: 5, last: true, inos: vec![70, 71] };
    assert_eq!(OrphanNode::parse(&node(ORPHANS)), Ok(orphans));
    let branch = Branch { lnum: LebIndex(14), offs: 0, len: 160, key: Key::inode(1) };
    let index = IndexNode { level: 0, branches: vec![branch] };
    assert_eq!(IndexNode::parse(&node(INDEX), 8), Ok(index));
}

#[test]
fn the_fields_of_superblock_and_master_are_those_that_the_kernel_wrote() {
    let sb = Superblock::parse(&node(SUPERBLOCK)).unwrap();
    assert_eq!((sb.flags, sb.min_io, sb.leb_size, sb.leb_count), (8, 512, 15_872, 940));
    assert_eq!((sb.max_bud_bytes, sb.log_lebs, sb.lpt_lebs, sb.orph_lebs), (650_752, 6, 2, 2));
    assert_eq!((sb.rp_size, sb.default_compr, sb.hash_algo), (735_667, 1, 0xFFFF));
    let master = Master::parse(&node(MASTER)).unwrap();
    assert_eq!((master.highest_inum, master.cmt_no, master.flags), (64, 0, 0));
    assert_eq!((master.root_lnum, master.root_len), (LebIndex(13), 48));
    assert_eq!((master.gc_lnum, master.ihead_offs), (Some(LebIndex(15)), 512));
    assert_eq!((master.total_free, master.total_dirty), (14_712_320, 816));
    assert_eq!((master.total_used, master.total_dark, master.empty_lebs), (160, 4_267_008, 925));
    assert_eq!((master.lpt_offs, master.nhead_offs, master.ltab_offs), (4_095, 4_608, 4_106));
}

#[test]
fn padding_is_a_node_or_where_none_fits_bytes() {
    let mut bytes = [0xFF; 352];
    padding::pad(&mut bytes);
    assert_eq!(bytes[..28], node(PADDING));
    assert!(bytes[28..].iter().all(|&byte| byte == 0));
    let mut bytes = [0xFF; 27];
    padding::pad(&mut bytes);
    assert_eq!(bytes, [0xCE; 27]);
}

#[test]
fn names_have_the_hashes_of_the_kernel() {
    // From the keys of entries that the kernel wrote.
    for (name, hash) in [
        ("a", 0x0000_42F2),
        ("user.b", 0x19B4_F76B),
        ("link", 0x01A9_2C50),
        ("file", 0x0193_A6B0),
        ("user.k", 0x19B4_FD9B),
        ("user.of-3", 0x0833_95E6),
    ] {
        assert_eq!(r5(name.as_bytes()), hash, "{name}");
    }
    assert_eq!(r5(b""), 3, "0 to 2 are reserved");
    assert_eq!((test_hash(b"\x01"), test_hash(b"abcde")), (4, 0x0463_6261));
}

#[test]
fn keys_are_in_the_order_of_inode_kind_and_block() {
    let keys = [
        Key::LOWEST,
        Key::lowest_of(5),
        Key::data(5, 0),
        Key::data(5, 0x1FFF_FFFF),
        Key::dirent(5, 3),
        Key::xattr(5, 3),
        Key::truncation(5),
        Key::highest_of(5),
        Key::inode(6),
        Key::HIGHEST,
    ];
    assert!(keys.is_sorted());
    assert_eq!(Key::inode(5), Key::lowest_of(5));
    let key = Key::data(5, 77);
    assert_eq!((key.ino(), key.kind(), key.low()), (5, Some(KeyType::Data), 77));
    assert_eq!(Key::highest_of(5).kind(), None);
    assert_eq!(Key::parse(&[5, 0, 0, 0, 77, 0, 0, 0x20]), key);
}

#[test]
fn every_truncation_of_a_node_is_rejected() {
    for bytes in all() {
        for length in 0..bytes.len() {
            assert!(emitted_again(&bytes[..length]).is_err(), "{length} of {}", bytes.len());
        }
    }
}

#[test]
fn every_changed_byte_is_found_by_the_header_or_the_checksum() {
    for bytes in all() {
        for at in 0..bytes.len() {
            for change in [0x01, 0x80, 0xFF] {
                let mut bytes = bytes.clone();
                bytes[at] ^= change;
                let found = Header::parse(&bytes)
                    .and_then(|header| check_checksum(&bytes, &header).map(|()| header));
                assert!(found.is_err(), "byte {at} of {}", bytes.len());
                // With a forged checksum, nothing may panic.
                drop(emitted_again(&bytes));
            }
        }
    }
}

#[test]
fn an_entry_that_the_kernel_refuses_is_refused() {
    let bytes = node(XATTR);
    let refused = |at: usize, value: u8| {
        let mut bytes = bytes.clone();
        bytes[at] = value;
        match Dirent::parse(&bytes) {
            Err(Malformed::Field { name, .. }) => name,
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(refused(50, 7), "nlen");
    assert_eq!(refused(49, 7), "type");
    assert_eq!(refused(44, 1), "inum");
    assert_eq!(refused(31, 0), "key");
    assert_eq!(refused(62, 1), "name");
    assert_eq!(refused(57, 0), "name");
}

#[test]
fn an_entry_without_a_name_is_refused() {
    let mut entry = Dirent::parse(&node(DIRENT)).unwrap();
    entry.name.clear();
    let wrong = Malformed::Field { name: "nlen", value: 0 };
    assert_eq!(Dirent::parse(&entry.emit()), Err(wrong));
}

#[test]
fn a_size_that_no_block_has_is_refused() {
    for size in [0_u32, 4_097] {
        let mut bytes = node(DATA);
        bytes[40..44].copy_from_slice(&size.to_le_bytes());
        let wrong = Malformed::Field { name: "size", value: u64::from(size) };
        assert_eq!(Data::parse(&bytes), Err(wrong));
    }
}

#[test]
fn an_indexing_node_with_too_many_branches_is_refused() {
    let mut bytes = node(INDEX);
    for count in [0, 2, 9, 255] {
        bytes[HEADER_SIZE] = count;
        let wrong = Malformed::Field { name: "child_cnt", value: u64::from(count) };
        assert_eq!(IndexNode::parse(&bytes, 8), Err(wrong));
    }
    bytes[HEADER_SIZE] = 1;
    bytes[HEADER_SIZE + 2..HEADER_SIZE + 4].copy_from_slice(&513_u16.to_le_bytes());
    let wrong = Malformed::Field { name: "level", value: 513 };
    assert_eq!(IndexNode::parse(&bytes, 8), Err(wrong));
}
