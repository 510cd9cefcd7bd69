//! Executable memory: Cranelift's module, the thunks, and the calls of compiled regions.
//!
//! Layer: rank 3. [`Code`] owns the memory of all its regions and frees it as a whole. An [`Entry`]
//! must not be called after that; the owner drops both together.

use std::ffi::c_void;

use cranelift_codegen::ir::{Function, Signature, UserFuncName};
use cranelift_codegen::isa::TargetFrontendConfig;
use cranelift_codegen::settings::{self, Configurable};
use cranelift_codegen::{CodegenError, Context};
use cranelift_frontend::FunctionBuilderContext;
use cranelift_jit::{JITBuilder, JITModule};
use cranelift_module::{Module, ModuleError, default_libcall_names};

use super::frame::Frame;
use super::lower::{self, Imports, Site};
use super::plan::Plan;
use super::thunk;
use crate::memory::lookaside::{Hits, LineHit};

/// The type of a region: its arguments are frame and look-aside.
// SAFETY: the caller keeps the contract of [`Entry::call`].
type Region = unsafe extern "C" fn(*mut Frame, *const Hits) -> u32;

/// The alignment of a thunk in bytes.
const ALIGNMENT: u64 = 16;

/// A host function that compiled code calls: see [`Imports`].
pub(super) type Host = extern "C" fn(*mut Frame);

/// The host functions that compiled code calls: see [`Imports`].
#[derive(Clone, Copy)]
pub(super) struct Hosts {
    pub(super) instruction: Host,
    pub(super) load: Host,
    pub(super) store: Host,
    pub(super) refill: Host,
    pub(super) line: Host,
}

/// A compiled region.
#[derive(Debug, Clone, Copy)]
pub(super) struct Entry(Region);

/// The arguments of a region.
#[derive(Debug, Clone, Copy)]
pub(super) struct Arguments {
    pub(super) frame: *mut Frame,
    pub(super) hits: *const Hits,
}

impl Entry {
    /// Runs the region and returns the number of the site where it exits.
    ///
    /// # Safety
    ///
    /// The [`Code`] of the region is alive. Each pointer refers to what its name says, in the processor
    /// of the frame's context. Nothing else uses that processor or the frame during the call.
    // SAFETY: the contract is stated above; the one caller keeps it.
    pub(super) unsafe fn call(self, arguments: Arguments) -> u32 {
        let Arguments { frame, hits } = arguments;
        // SAFETY: by the contract above. Compiled code accesses nothing else: it masks the indices of
        // tables, and entries of the look-aside refer to lines of the data cache.
        unsafe { (self.0)(frame, hits) }
    }
}

/// Executable memory.
pub(super) struct Code {
    module: Option<JITModule>,
    context: Context,
    builder: FunctionBuilderContext,
    imports: Imports,
    /// The size of the machine code.
    bytes: usize,
}

impl Code {
    /// Prepares Cranelift for this host, with its verifier if `verify`; `None` for an unsupported host.
    pub(super) fn new(hosts: Hosts, verify: bool) -> Option<Self> {
        if cfg!(target_endian = "big") || cfg!(not(target_pointer_width = "64")) {
            return None;
        }
        let mut flags = settings::builder();
        let verify = if verify { "true" } else { "false" };
        let switches = [("opt_level", "speed"), ("is_pic", "false"), ("enable_verifier", verify)];
        for (name, value) in switches.into_iter().chain([("use_colocated_libcalls", "false")]) {
            flags.set(name, value).ok()?;
        }
        let isa = cranelift_native::builder().ok()?.finish(settings::Flags::new(flags)).ok()?;
        let module = JITModule::new(JITBuilder::with_isa(isa, default_libcall_names()));
        let context = module.make_context();
        let imports = Imports { instruction: 0, load: 0, store: 0, refill: 0, line: 0 };
        let builder = FunctionBuilderContext::new();
        let mut code = Self { module: Some(module), context, builder, imports, bytes: 0 };
        code.imports.instruction = code.thunk(hosts.instruction)?;
        code.imports.load = code.thunk(hosts.load)?;
        code.imports.store = code.thunk(hosts.store)?;
        code.imports.refill = code.thunk(hosts.refill)?;
        code.imports.line = code.thunk(hosts.line)?;
        Some(code)
    }

    /// The bytes of machine code generated so far.
    pub(super) const fn bytes(&self) -> usize {
        self.bytes
    }

    /// Compiles a region that spans `lines`.
    pub(super) fn compile(&mut self, plan: &Plan, lines: &[LineHit]) -> Option<(Entry, Vec<Site>)> {
        let (target, imports) = (self.target()?, self.imports);
        let mut sites = Vec::new();
        let write = |function: &mut Function, context: &mut FunctionBuilderContext| {
            sites = lower::region(function, context, (plan, lines), imports, target);
        };
        let address = self.define(lower::signature(target.default_call_conv), write)?;
        // SAFETY: the function was just compiled with the signature of `Region`.
        let entry = Entry(unsafe { std::mem::transmute::<*const u8, Region>(address) });
        Some((entry, sites))
    }

    fn target(&self) -> Option<TargetFrontendConfig> {
        Some(self.module.as_ref()?.target_config())
    }

    fn thunk(&mut self, host: Host) -> Option<u64> {
        let target = self.target()?;
        let address = (host as *const c_void).expose_provenance() as u64;
        let signature = lower::thunk_signature();
        let thunk = match thunk::code(address) {
            Some(code) => self.define_bytes(&signature, &code)?,
            None => self.define(signature, |function, context| {
                lower::thunk(function, context, address, target);
            })?,
        };
        Some(thunk.expose_provenance() as u64)
    }

    /// Adds a function of this machine code and returns its address.
    fn define_bytes(&mut self, signature: &Signature, code: &[u8]) -> Option<*const u8> {
        let module = self.module.as_mut()?;
        let id = module.declare_anonymous_function(signature).ok()?;
        module.define_function_bytes(id, ALIGNMENT, code, &[]).ok()?;
        self.bytes += code.len();
        module.finalize_definitions().ok()?;
        Some(module.get_finalized_function(id))
    }

    /// Compiles one function and returns its address.
    fn define(
        &mut self,
        signature: Signature,
        write: impl FnOnce(&mut Function, &mut FunctionBuilderContext),
    ) -> Option<*const u8> {
        let module = self.module.as_mut()?;
        let id = module.declare_anonymous_function(&signature).ok()?;
        self.context.func = Function::with_name_signature(UserFuncName::default(), signature);
        write(&mut self.context.func, &mut self.builder);
        let values = &self.context.func.dfg;
        let only_integers = values.values().all(|value| values.value_type(value).is_int());
        assert!(only_integers, "a thunk does not save vector registers");
        let defined = module.define_function(id, &mut self.context);
        if let Err(error @ ModuleError::Compilation(CodegenError::Verifier(_))) = &defined {
            panic!("the lowering generated invalid code: {error}");
        }
        defined.ok()?;
        self.bytes += self.context.compiled_code()?.code_buffer().len();
        module.clear_context(&mut self.context);
        module.finalize_definitions().ok()?;
        Some(module.get_finalized_function(id))
    }
}

impl Drop for Code {
    fn drop(&mut self) {
        if let Some(module) = self.module.take() {
            // SAFETY: no region is running, since it would borrow the owner, which drops all entries.
            unsafe { module.free_memory() };
        }
    }
}

impl std::fmt::Debug for Code {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Code").field("bytes", &self.bytes).finish_non_exhaustive()
    }
}
