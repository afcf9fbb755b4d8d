//! NVIDIA's proprietary libraries: the packages that provide their headers and the names of their functions.
//!
//! Packages can be hundreds of megabytes in size, and most programs need none, so they are fetched only on request.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::Progress;
use crate::cuda::merge;
use crate::cuda::wheels::{self, Wheel, WheelError};

#[derive(Debug)]
pub struct ProprietaryPackage {
    pub name: &'static str,
    pub title: &'static str,
    requirement: &'static str,
    pub sha256: &'static str,
    bytes: u64,
    /// Folder in the wheel that contains `include` and the libraries.
    folder: &'static str,
    headers: &'static str,
    /// Names of the libraries to link against. A name ending in `_static` stands for the shared library.
    libraries: &'static str,
    /// Packages whose headers this package's headers include.
    pub needs: &'static [&'static str],
}

/// The packages for CUDA 12.9, the version of the other fetched components.
pub static PROPRIETARY_PACKAGES: [ProprietaryPackage; 10] = [
    ProprietaryPackage {
        name: "cublas",
        title: "cuBLAS",
        requirement: "nvidia-cublas-cu12==12.9.1.4",
        sha256: "453611eb21a7c1f2c2156ed9f3a45b691deda0440ec550860290dc901af5b4c2",
        bytes: 581_242_350,
        folder: "nvidia/cublas/",
        headers: "cublas.h cublasLt.h cublasXt.h cublas_api.h cublas_v2.h nvblas.h",
        libraries: "cublas cublasLt nvblas",
        needs: &[],
    },
    ProprietaryPackage {
        name: "cufft",
        title: "cuFFT",
        requirement: "nvidia-cufft-cu12==11.4.1.4",
        sha256: "c67884f2a7d276b4b80eb56a79322a95df592ae5e765cf1243693365ccab4e28",
        bytes: 200_877_592,
        folder: "nvidia/cufft/",
        headers: "cufft.h cufftXt.h cufftw.h cudalibxt.h",
        libraries: "cufft cufft_static cufftw",
        needs: &[],
    },
    ProprietaryPackage {
        name: "curand",
        title: "cuRAND",
        requirement: "nvidia-curand-cu12==10.3.10.19",
        sha256: "49b274db4780d421bd2ccd362e1415c13887c53c214f0d4b761752b8f9f6aa1e",
        bytes: 68_295_626,
        folder: "nvidia/curand/",
        headers: "curand.h curand_discrete.h curand_discrete2.h curand_globals.h curand_kernel.h \
                  curand_lognormal.h curand_mrg32k3a.h curand_mtgp32.h curand_mtgp32_host.h \
                  curand_mtgp32_kernel.h curand_mtgp32dc_p_11213.h curand_normal.h \
                  curand_normal_static.h curand_philox4x32_x.h curand_poisson.h curand_precalc.h \
                  curand_uniform.h",
        libraries: "curand",
        needs: &[],
    },
    ProprietaryPackage {
        name: "cusparse",
        title: "cuSPARSE",
        requirement: "nvidia-cusparse-cu12==12.5.10.65",
        sha256: "73060ce019ac064a057267c585bf1fd5a353734151f87472ff02b2c5c9984e78",
        bytes: 366_465_088,
        folder: "nvidia/cusparse/",
        headers: "cusparse.h cusparse_v2.h",
        libraries: "cusparse",
        needs: &[],
    },
    ProprietaryPackage {
        name: "cusolver",
        title: "cuSOLVER",
        requirement: "nvidia-cusolver-cu12==11.7.5.82",
        sha256: "15da72d1340d29b5b3cf3fd100e3cd53421dde36002eda6ed93811af63c40d88",
        bytes: 338_117_415,
        folder: "nvidia/cusolver/",
        headers: "cusolverDn.h cusolverMg.h cusolverRf.h cusolverSp.h cusolverSp_LOWLEVEL_PREVIEW.h \
                  cusolver_common.h",
        libraries: "cusolver cusolverMg",
        needs: &["cublas", "cusparse"],
    },
    ProprietaryPackage {
        name: "npp",
        title: "NPP",
        requirement: "nvidia-npp-cu12==12.4.1.87",
        sha256: "a586435420f08a804ebe83c09f2757d53fdee65364f2129e36d7476ab66c6197",
        bytes: 282_363_718,
        folder: "nvidia/npp/",
        headers: "npp.h nppcore.h nppdefs.h nppi.h nppi_arithmetic_and_logical_operations.h \
                  nppi_color_conversion.h nppi_data_exchange_and_initialization.h \
                  nppi_filtering_functions.h nppi_geometry_transforms.h nppi_linear_transforms.h \
                  nppi_morphological_operations.h nppi_statistics_functions.h nppi_support_functions.h \
                  nppi_threshold_and_compare_operations.h npps.h \
                  npps_arithmetic_and_logical_operations.h npps_conversion_functions.h \
                  npps_filtering_functions.h npps_initialization.h npps_statistics_functions.h \
                  npps_support_functions.h",
        libraries: "nppc nppial nppicc nppidei nppif nppig nppim nppist nppisu nppitc npps",
        needs: &[],
    },
    ProprietaryPackage {
        name: "nvjpeg",
        title: "nvJPEG",
        requirement: "nvidia-nvjpeg-cu12==12.4.0.76",
        sha256: "3888f10b32fbd58e80166c48e01073732d752fa5f167b7cb5b9615f1c6375a20",
        bytes: 5_313_609,
        folder: "nvidia/nvjpeg/",
        headers: "nvjpeg.h",
        libraries: "nvjpeg",
        needs: &[],
    },
    ProprietaryPackage {
        name: "nvrtc",
        title: "NVRTC",
        requirement: "nvidia-cuda-nvrtc-cu12==12.9.86",
        sha256: "210cf05005a447e29214e9ce50851e83fc5f4358df8b453155d5e1918094dcb4",
        bytes: 89_568_129,
        folder: "nvidia/cuda_nvrtc/",
        headers: "nvrtc.h",
        libraries: "nvrtc",
        needs: &[],
    },
    ProprietaryPackage {
        name: "nvjitlink",
        title: "nvJitLink",
        requirement: "nvidia-nvjitlink-cu12==12.9.86",
        sha256: "e3f1171dbdc83c5932a45f0f4c99180a70de9bd2718c1ab77d14104f6d7147f9",
        bytes: 39_748_338,
        folder: "nvidia/nvjitlink/",
        headers: "nvJitLink.h",
        libraries: "nvJitLink",
        needs: &[],
    },
    ProprietaryPackage {
        name: "nvvm",
        title: "libNVVM",
        requirement: wheels::NVCC.requirement,
        sha256: wheels::NVCC.sha256,
        bytes: wheels::NVCC.bytes,
        folder: "nvidia/cuda_nvcc/nvvm/",
        headers: "nvvm.h",
        libraries: "nvvm",
        needs: &[],
    },
];

impl ProprietaryPackage {
    fn wheel(&self) -> Wheel {
        Wheel {
            requirement: self.requirement,
            sha256: self.sha256,
            bytes: self.bytes,
            folder: self.folder,
            extracted: &["include/", "lib/", "lib64/"],
        }
    }

    pub fn headers(&self) -> impl Iterator<Item = &'static str> {
        self.headers.split(' ')
    }

    /// Returns the library names to link against. A name ending in `_static` stands for the shared library.
    pub fn libraries(&self) -> impl Iterator<Item = &'static str> {
        self.libraries.split(' ')
    }

    /// Returns the folder that contains the package's `include` and `lib` if this machine's python3 has the package for
    /// the same CUDA version.
    pub fn installed(&self) -> Option<PathBuf> {
        let (package, folder) = (self.wheel().package(), self.folder);
        let script = format!(
            "import importlib.metadata as m; print(m.distribution('{package}').locate_file('{folder}'))"
        );
        let output = Command::new("python3").args(["-c", &script]).output();
        let output = output.ok()?;
        let folder = PathBuf::from(String::from_utf8(output.stdout).ok()?.trim_end());
        folder.join("include").is_dir().then_some(folder)
    }

    pub fn fetch(&self, folder: &Path, progress: Progress) -> Result<(), WheelError> {
        let (title, megabytes) = (self.title, self.bytes / 1_000_000);
        progress(&format!("fetching {title} with pip ({megabytes} MB)"));
        let (wheel, downloads) = (self.wheel(), folder.join("wheel"));
        for file in wheels::download(&[wheel], &downloads, &[])? {
            merge::extract(&wheel, &file, folder)?;
        }
        std::fs::remove_dir_all(&downloads).map_err(WheelError::io(&downloads))
    }
}
