//! NVIDIA's closed libraries: where their headers, and the names of their functions, are had from.
//!
//! They are hundreds of megabytes each and most programs need none, so that each is fetched only when a user asks for it.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::merge;
use crate::wheels::{self, Wheel, WheelError};

/// A wheel of closed libraries.
#[derive(Debug)]
pub struct Closed {
    /// As users name it, and its folder in the wheel.
    pub name: &'static str,
    pub title: &'static str,
    pub wheel: Wheel,
    pub headers: &'static [&'static str],
    /// Names to link with.
    pub libraries: &'static [&'static str],
    /// Others whose headers its own include.
    pub needs: &'static [&'static str],
}

/// Those of CUDA 12.9, like everything else that is fetched.
pub static CLOSED: [Closed; 5] = [
    Closed {
        name: "cublas",
        title: "cuBLAS",
        wheel: Wheel {
            package: "nvidia-cublas-cu12",
            version: "12.9.1.4",
            sha256: "453611eb21a7c1f2c2156ed9f3a45b691deda0440ec550860290dc901af5b4c2",
            bytes: 581_242_350,
        },
        headers: &[
            "cublas.h",
            "cublasLt.h",
            "cublasXt.h",
            "cublas_api.h",
            "cublas_v2.h",
            "nvblas.h",
        ],
        libraries: &["cublas", "cublasLt", "nvblas"],
        needs: &[],
    },
    Closed {
        name: "cufft",
        title: "cuFFT",
        wheel: Wheel {
            package: "nvidia-cufft-cu12",
            version: "11.4.1.4",
            sha256: "c67884f2a7d276b4b80eb56a79322a95df592ae5e765cf1243693365ccab4e28",
            bytes: 200_877_592,
        },
        headers: &["cufft.h", "cufftXt.h", "cufftw.h", "cudalibxt.h"],
        libraries: &["cufft", "cufftw"],
        needs: &[],
    },
    Closed {
        name: "curand",
        title: "cuRAND",
        wheel: Wheel {
            package: "nvidia-curand-cu12",
            version: "10.3.10.19",
            sha256: "49b274db4780d421bd2ccd362e1415c13887c53c214f0d4b761752b8f9f6aa1e",
            bytes: 68_295_626,
        },
        headers: &[
            "curand.h",
            "curand_discrete.h",
            "curand_discrete2.h",
            "curand_globals.h",
            "curand_kernel.h",
            "curand_lognormal.h",
            "curand_mrg32k3a.h",
            "curand_mtgp32.h",
            "curand_mtgp32_host.h",
            "curand_mtgp32_kernel.h",
            "curand_mtgp32dc_p_11213.h",
            "curand_normal.h",
            "curand_normal_static.h",
            "curand_philox4x32_x.h",
            "curand_poisson.h",
            "curand_precalc.h",
            "curand_uniform.h",
        ],
        libraries: &["curand"],
        needs: &[],
    },
    Closed {
        name: "cusparse",
        title: "cuSPARSE",
        wheel: Wheel {
            package: "nvidia-cusparse-cu12",
            version: "12.5.10.65",
            sha256: "73060ce019ac064a057267c585bf1fd5a353734151f87472ff02b2c5c9984e78",
            bytes: 366_465_088,
        },
        headers: &["cusparse.h", "cusparse_v2.h"],
        libraries: &["cusparse"],
        needs: &[],
    },
    Closed {
        name: "cusolver",
        title: "cuSOLVER",
        wheel: Wheel {
            package: "nvidia-cusolver-cu12",
            version: "11.7.5.82",
            sha256: "15da72d1340d29b5b3cf3fd100e3cd53421dde36002eda6ed93811af63c40d88",
            bytes: 338_117_415,
        },
        headers: &[
            "cusolverDn.h",
            "cusolverMg.h",
            "cusolverRf.h",
            "cusolverSp.h",
            "cusolverSp_LOWLEVEL_PREVIEW.h",
            "cusolver_common.h",
        ],
        libraries: &["cusolver", "cusolverMg"],
        needs: &["cublas", "cusparse"],
    },
];

impl Closed {
    /// The folder with its `include` and `lib` where this machine's python3 has a version of it for the same CUDA.
    pub fn installed(&self) -> Option<PathBuf> {
        let script = format!(
            "import importlib.metadata as m; print(m.distribution('{}').locate_file('nvidia/{}'))",
            self.wheel.package, self.name
        );
        let output = Command::new("python3")
            .args(["-c", &script])
            .output()
            .ok()?;
        let folder = PathBuf::from(String::from_utf8(output.stdout).ok()?.trim_end());
        folder.join("include").is_dir().then_some(folder)
    }

    /// Fetches it, into `include` and `lib64` in `folder`.
    pub fn fetch(&self, folder: &Path, progress: &mut dyn FnMut(&str)) -> Result<(), WheelError> {
        let megabytes = self.wheel.bytes / 1_000_000;
        progress(&format!(
            "fetching {} with pip ({megabytes} MB)",
            self.title
        ));
        let downloads = folder.join("wheel");
        for file in wheels::download(&[self.wheel], &downloads, &[])? {
            merge::wheel(self.wheel.package, &file, folder)?;
        }
        std::fs::remove_dir_all(&downloads).map_err(WheelError::io(&downloads))
    }
}
