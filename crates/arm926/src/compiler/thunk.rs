//! The machine code of a thunk.
//!
//! Layer: rank 3. Function: [`code`]. Compiled code keeps the guest's registers in the host's, and calls
//! the host for what is rare. So the callee saves all registers, where the convention of C lets it
//! overwrite nine. Cranelift would save the vector registers as well, which compiled code never uses: that
//! is two thirds of the instructions of such a call.

/// The thunk for the host function at `address`, which preserves all general registers. The function's
/// argument is the thunk's first. `None` for a host that Cranelift is left to write it for.
pub(super) fn code(address: u64) -> Option<Vec<u8>> {
    if cfg!(not(all(target_arch = "x86_64", unix))) {
        return None;
    }
    let mut code = Vec::with_capacity(39);
    // push rax, rcx, rdx, rsi, rdi, r8, r9, r10, r11: with the return address a multiple of 16 bytes.
    code.extend([0x50, 0x51, 0x52, 0x56, 0x57]);
    code.extend([0x41, 0x50, 0x41, 0x51, 0x41, 0x52, 0x41, 0x53]);
    // mov rax, address; call rax
    code.extend([0x48, 0xB8]);
    code.extend(address.to_le_bytes());
    code.extend([0xFF, 0xD0]);
    // pop r11, r10, r9, r8, rdi, rsi, rdx, rcx, rax; ret
    code.extend([0x41, 0x5B, 0x41, 0x5A, 0x41, 0x59, 0x41, 0x58]);
    code.extend([0x5F, 0x5E, 0x5A, 0x59, 0x58, 0xC3]);
    Some(code)
}
