//! Tests that the support code in `device/` computes what the PTX manual specifies.

mod common;

use common::{check, device_files, tool};
use proptest::prelude::*;
use std::ffi::{CString, c_void};
use std::path::Path;
use std::process::Command;
use std::sync::OnceLock;

/// The support code, compiled as a library for this machine.
struct Support {
    handle: usize,
}

fn support() -> Option<&'static Support> {
    static SUPPORT: OnceLock<Option<Support>> = OnceLock::new();
    SUPPORT.get_or_init(|| load(&tool("clang")?)).as_ref()
}

fn load(clang: &Path) -> Option<Support> {
    let folder = tempfile::tempdir().unwrap();
    let library = folder.path().join("support.so");
    // The runtime's functions remain undefined. They are bound lazily, and these tests do not call them.
    let output = Command::new(clang)
        .args(["-std=c17", "-O2", "-fPIC", "-shared", "-Wl,-z,lazy"])
        .args(device_files("support_"))
        .args(["-lm", "-o"])
        .arg(&library)
        .output()
        .unwrap();
    check(&output, "building the support library");
    let path = CString::new(library.to_str().unwrap()).unwrap();
    // SAFETY: the library was just built from our own code, whose constructors do nothing.
    let handle = unsafe { libc::dlopen(path.as_ptr(), libc::RTLD_LAZY) };
    assert!(!handle.is_null(), "dlopen");
    Some(Support {
        handle: handle as usize,
    })
}

impl Support {
    fn address(&self, name: &str) -> *mut c_void {
        let name = match name.strip_prefix("ptx:") {
            Some(name) => CString::new(format!("__superstep_ptx_{name}")).unwrap(),
            None => CString::new(format!("__superstep_nvvm_{name}")).unwrap(),
        };
        // SAFETY: the handle is open.
        let address = unsafe { libc::dlsym(self.handle as *mut c_void, name.as_ptr()) };
        assert!(!address.is_null(), "{name:?}");
        address
    }
}

/// Looks up the function `$name` in the support library, with the given type.
macro_rules! function {
    ($support:expr, $name:expr, fn($($parameter:ty),*) -> $result:ty) => {{
        let address = $support.address(&$name);
        // SAFETY: the test in `device_types.rs` compares the types of all functions with LLVM's.
        unsafe { std::mem::transmute::<*mut c_void, extern "C" fn($($parameter),*) -> $result>(address) }
    }};
}

const MODES: [&str; 4] = ["rn", "rz", "rm", "rp"];

/// Rounds `exact` to a float in the given rounding mode.
fn round(exact: f64, mode: &str) -> f32 {
    let nearest = exact as f32;
    let (low, high) = if f64::from(nearest) <= exact {
        (nearest, nearest.next_up())
    } else {
        (nearest.next_down(), nearest)
    };
    match mode {
        _ if f64::from(nearest) == exact || mode == "rn" => nearest,
        "rm" => low,
        "rp" => high,
        _ if exact < 0.0 => high,
        _ => low,
    }
}

/// Returns floats whose sums and products are exact in double precision.
fn moderate() -> impl Strategy<Value = f32> {
    (-0x00ff_ffffi32..0x00ff_ffff, -14i32..1)
        .prop_map(|(mantissa, exponent)| mantissa as f32 * 2f32.powi(exponent))
}

proptest! {
    #[test]
    fn sums_products_and_quotients_are_rounded_in_every_mode(a in moderate(), b in moderate()) {
        let Some(support) = support() else { return Ok(()) };
        for mode in MODES {
            let add = function!(support, format!("add_{mode}_f"), fn(f32, f32) -> f32);
            let exact = f64::from(a) + f64::from(b);
            if exact != 0.0 {
                prop_assert_eq!(add(a, b), round(exact, mode), "{} + {} {}", a, b, mode);
            }
            let mul = function!(support, format!("mul_{mode}_f"), fn(f32, f32) -> f32);
            prop_assert_eq!(mul(a, b), round(f64::from(a) * f64::from(b), mode), "{} * {} {}", a, b, mode);
            let fma = function!(support, format!("fma_{mode}_f"), fn(f32, f32, f32) -> f32);
            prop_assert_eq!(fma(a, b, 0.0), round(f64::from(a) * f64::from(b), mode), "fma {} {} {}", a, b, mode);
            if b != 0.0 {
                // The quotient is not exact in double, but its product with b is.
                let div = function!(support, format!("div_{mode}_f"), fn(f32, f32) -> f32);
                let quotient = div(a, b);
                let at_most = |value: f32| f64::from(value) * f64::from(b.abs()) <= f64::from(a) * f64::from(b.signum());
                let at_least = |value: f32| f64::from(value) * f64::from(b.abs()) >= f64::from(a) * f64::from(b.signum());
                match mode {
                    "rm" => prop_assert!(at_most(quotient) && !at_most(quotient.next_up()), "{} / {} {}", a, b, quotient),
                    "rp" => prop_assert!(at_least(quotient) && !at_least(quotient.next_down()), "{} / {} {}", a, b, quotient),
                    "rn" => prop_assert_eq!(quotient, a / b),
                    _ => prop_assert!(quotient == 0.0 || quotient.abs() <= (a / b).abs()),
                }
            }
        }
    }

    #[test]
    fn fused_multiply_adds_are_rounded_in_every_directed_mode(a in moderate(), b in moderate(), c in moderate(), cancels in any::<bool>()) {
        let Some(support) = support() else { return Ok(()) };
        let c = if cancels { -(a * b) } else { c };
        // In these units, all operands, and the floats next to the result, are integers.
        let scaled = |value: f32| (f64::from(value) * 2f64.powi(60)) as i128;
        let product = (f64::from(a) * 2f64.powi(14)) as i128 * (f64::from(b) * 2f64.powi(14)) as i128;
        let exact = (product << 32) + scaled(c);
        for mode in ["rz", "rm", "rp"] {
            let fma = function!(support, format!("fma_{mode}_f"), fn(f32, f32, f32) -> f32);
            let found = fma(a, b, c);
            if scaled(found) != exact {
                let down = mode == "rm" || mode == "rz" && exact > 0;
                let beyond = if down { found.next_up() } else { found.next_down() };
                let (low, high) = if down { (found, beyond) } else { (beyond, found) };
                prop_assert!(scaled(low) < exact && exact < scaled(high), "fma {} {} {} {} is {}", a, b, c, mode, found);
            }
        }
    }

    #[test]
    fn doubles_are_converted_to_floats(value in any::<f64>()) {
        let Some(support) = support() else { return Ok(()) };
        for mode in MODES {
            let narrow = function!(support, format!("d2f_{mode}"), fn(f64) -> f32);
            let result = narrow(value);
            if value.is_nan() {
                prop_assert!(result.is_nan());
            } else {
                prop_assert_eq!(result.to_bits(), round(value, mode).to_bits(), "{} {}", value, mode);
            }
        }
    }

    #[test]
    fn integers_are_converted_to_floats(value in any::<u64>(), shift in 0u32..64) {
        let Some(support) = support() else { return Ok(()) };
        let value = value >> shift;
        for mode in MODES {
            let float = function!(support, format!("ull2f_{mode}"), fn(u64) -> f32)(value);
            let double = function!(support, format!("ull2d_{mode}"), fn(u64) -> f64)(value);
            let signed = function!(support, format!("ll2d_{mode}"), fn(i64) -> f64)((value as i64).wrapping_neg());
            // Floats of this size are integers, so 128-bit integers compare them exactly.
            let (exact, float_wide, double_wide) = (u128::from(value), float as u128, double as u128);
            match mode {
                "rn" => prop_assert_eq!((float, double), (value as f32, value as f64)),
                "rp" => prop_assert!(float_wide >= exact && (float.next_down() as u128) < exact.max(1) && double_wide >= exact),
                _ => prop_assert!(float_wide <= exact && double_wide <= exact && (double.next_up() as u128) >= exact),
            }
            if mode == "rn" {
                prop_assert_eq!(signed, (value as i64).wrapping_neg() as f64);
            }
        }
    }

    #[test]
    fn floats_are_converted_to_integers(value in prop_oneof![any::<f32>(), (-3e9f32..3e9).boxed()]) {
        let Some(support) = support() else { return Ok(()) };
        let rounded = [value.round_ties_even(), value.trunc(), value.floor(), value.ceil()];
        for (mode, rounded) in MODES.into_iter().zip(rounded) {
            // Rust's casts saturate and turn NaN into 0, as PTX does for 32-bit results.
            let long = if value.is_nan() { i64::MIN } else { rounded as i64 };
            let unsigned_long = if value.is_nan() { 1 << 63 } else { rounded as u64 };
            prop_assert_eq!(function!(support, format!("f2i_{mode}"), fn(f32) -> i32)(value), rounded as i32);
            prop_assert_eq!(function!(support, format!("f2ui_{mode}"), fn(f32) -> u32)(value), rounded as u32);
            prop_assert_eq!(function!(support, format!("f2ll_{mode}"), fn(f32) -> i64)(value), long);
            prop_assert_eq!(function!(support, format!("f2ull_{mode}"), fn(f32) -> u64)(value), unsigned_long);
        }
    }

    #[test]
    fn integer_operations_match_ptx(a in any::<u32>(), b in any::<u32>(), c in any::<u32>()) {
        let Some(support) = support() else { return Ok(()) };
        let (x, y) = (a as i32, b as i32);
        prop_assert_eq!(function!(support, "mulhi_i", fn(i32, i32) -> i32)(x, y), ((i64::from(x) * i64::from(y)) >> 32) as i32);
        prop_assert_eq!(function!(support, "mulhi_ui", fn(u32, u32) -> u32)(a, b), ((u64::from(a) * u64::from(b)) >> 32) as u32);
        prop_assert_eq!(function!(support, "sad_i", fn(i32, i32, i32) -> i32)(x, y, 5), (x.abs_diff(y) as i32).wrapping_add(5));
        prop_assert_eq!(function!(support, "mul24_ui", fn(u32, u32) -> u32)(a, b), (a & 0xff_ffff).wrapping_mul(b & 0xff_ffff));
        let wide = u64::from(a) << 32 | u64::from(b);
        let amount = c % 40;
        let left = function!(support, "fshl_clamp_i32", fn(u32, u32, u32) -> u32)(a, b, amount);
        prop_assert_eq!(left, ((u128::from(wide) << amount.min(32)) >> 32) as u32);
        let bytes = wide.rotate_left(32).to_le_bytes();
        let expected: [u8; 4] = std::array::from_fn(|i| {
            let nibble = c >> (4 * i) & 15;
            let byte = bytes[(nibble & 7) as usize];
            if nibble & 8 != 0 { ((byte as i8) >> 7) as u8 } else { byte }
        });
        // {b, a}: bytes 0 to 3 are a's, 4 to 7 are b's.
        prop_assert_eq!(function!(support, "prmt", fn(u32, u32, u32) -> u32)(a, b, c), u32::from_le_bytes(expected));
    }
}

#[test]
fn special_values_match_ptx() {
    let Some(support) = support() else { return };
    let min = function!(support, "fmin_f", fn(f32, f32) -> f32);
    let max = function!(support, "fmax_f", fn(f32, f32) -> f32);
    assert_eq!((min(f32::NAN, 1.0), max(2.0, f32::NAN)), (1.0, 2.0));
    assert!(min(0.0, -0.0).is_sign_negative() && max(-0.0, 0.0).is_sign_positive());
    assert!(function!(support, "fmin_nan_f", fn(f32, f32) -> f32)(f32::NAN, 1.0).is_nan());
    assert_eq!(
        function!(support, "fmax_xorsign_abs_f", fn(f32, f32) -> f32)(-3.0, 2.0),
        -3.0
    );
    let saturate = function!(support, "saturate_f", fn(f32) -> f32);
    assert_eq!(
        [
            saturate(f32::NAN),
            saturate(-1.0),
            saturate(0.5),
            saturate(7.0)
        ],
        [0.0, 0.0, 0.5, 1.0]
    );
    let tiny = f32::from_bits(1);
    assert_eq!(
        function!(support, "add_rn_ftz_f", fn(f32, f32) -> f32)(tiny, tiny),
        0.0
    );
    assert_eq!(
        function!(support, "add_rn_f", fn(f32, f32) -> f32)(tiny, tiny),
        f32::from_bits(2)
    );
    assert_eq!(
        function!(support, "add_rz_ftz_sat_f", fn(f32, f32) -> f32)(0.9, 0.9),
        1.0
    );
    assert_eq!(
        function!(support, "mul_rz_f", fn(f32, f32) -> f32)(f32::MAX, 2.0),
        f32::MAX,
        "rounding towards zero never yields infinity"
    );
    assert_eq!(
        function!(support, "d2f_rm", fn(f64) -> f32)(-1e300),
        f32::NEG_INFINITY
    );
    assert_eq!(
        function!(support, "round_f", fn(f32) -> f32)(2.5),
        2.0,
        "ties round to even"
    );
    assert_eq!(
        function!(support, "sqrt_rp_d", fn(f64) -> f64)(2.0),
        2f64.sqrt(),
        "the nearest double is already above the exact root"
    );
    assert_eq!(function!(support, "f2h_rn", fn(f32) -> u16)(1.0), 0x3c00);
    assert_eq!(
        function!(support, "lohi_i2d", fn(i32, i32) -> f64)(0, 0x3ff0_0000),
        1.0
    );
    assert_eq!(
        function!(support, "d2i_hi", fn(f64) -> i32)(1.0),
        0x3ff0_0000
    );
    let fns = function!(support, "fns", fn(u32, u32, i32) -> u32);
    assert_eq!(
        [
            fns(0b1011, 0, 1),
            fns(0b1011, 0, 3),
            fns(0b1011, 3, -2),
            fns(0b1011, 0, 4),
            fns(0b10, 0, 0)
        ],
        [0, 3, 1, !0, !0]
    );
    let flo = function!(support, "flo_u_i32", fn(u32, bool) -> u32);
    assert_eq!(
        [flo(1, false), flo(0x80, false), flo(0, false), flo(1, true)],
        [0, 7, !0, 31]
    );
    let dot = function!(support, "idp4a_s_u", fn(u32, u32, i32) -> i32);
    assert_eq!(dot(0x0000_00ff, 0x0000_0002, 10), 8);
    assert_eq!(
        function!(support, "bmsk_clamp", fn(u32, u32) -> u32)(4, 3),
        0x70
    );
    assert_eq!(
        function!(support, "sext_wrap", fn(u32, u32) -> u32)(0x0f, 4),
        !0
    );
    let bfe = function!(support, "ptx:bfe_s32", fn(i32, u32, u32) -> i32);
    assert_eq!(
        [
            bfe(0xf0, 4, 4),
            bfe(0x70, 4, 4),
            bfe(-1, 0, 32),
            bfe(-1, 40, 3),
            bfe(5, 3, 0)
        ],
        [-1, 7, -1, -1, 0]
    );
    let bfi = function!(support, "ptx:bfi_b32", fn(u32, u32, u32, u32) -> u32);
    assert_eq!(
        [bfi(0xff, 0, 4, 4), bfi(0, !0, 28, 9), bfi(1, 2, 32, 1)],
        [0xf0, 0x0fff_ffff, 2]
    );
    let shift = function!(support, "ptx:shf_l_wrap_b32", fn(u32, u32, u32) -> u32);
    assert_eq!([shift(0x8000_0000, 1, 1), shift(7, 9, 32)], [3, 9]);
    assert_eq!(
        function!(support, "ptx:bfind_shiftamt_u32", fn(u32) -> u32)(1),
        31
    );
    let exp = function!(support, "ex2_approx_f32", fn(f32) -> f32);
    assert_eq!((exp(3.0), exp(-1.0)), (8.0, 0.5));
    let rsqrt = function!(support, "rsqrt_approx_f", fn(f32) -> f32);
    assert_eq!((rsqrt(4.0), rsqrt(0.0)), (0.5, f32::INFINITY));
}

/// Checks every 4001st float: the error is at most 0.501 ulp.
#[test]
fn powers_and_logarithms_are_accurate() {
    let Some(support) = support() else { return };
    let exp = function!(support, "ex2_approx_f32", fn(f32) -> f32);
    let log = function!(support, "lg2_approx_f", fn(f32) -> f32);
    let check = |name: &str, value: f32, found: f32, exact: f64| {
        let nearest = exact as f32;
        let is_near = if nearest.is_finite() {
            let ulp = f64::from(nearest.abs().next_up()) - f64::from(nearest.abs());
            (f64::from(found) - exact).abs() <= 0.501 * ulp
        } else {
            found == nearest || found.is_nan() && nearest.is_nan()
        };
        assert!(is_near, "{name}({value:e}) is {found:e}, not {exact:e}");
    };
    let special = [0.0, -0.0, 1.0, f32::INFINITY, f32::NEG_INFINITY, f32::NAN];
    for value in (0..=u32::MAX)
        .step_by(4001)
        .map(f32::from_bits)
        .chain(special)
    {
        check("ex2", value, exp(value), f64::from(value).exp2());
        check("lg2", value, log(value), f64::from(value).log2());
    }
    let fma = function!(support, "fma_rm_f", fn(f32, f32, f32) -> f32);
    assert!(fma(1.0, 1.0, -1.0).is_sign_negative() && fma(0.0, 1.0, 0.0).is_sign_positive());
    assert_eq!(fma(f32::MAX, 2.0, 0.0), f32::MAX);
    assert_eq!(fma(-f32::from_bits(1), 0.5, 0.0), -f32::from_bits(1));
}
