//! cuBLAS functions that OpenBLAS implements: argument kinds after the handle, then pairs of cuBLAS and OpenBLAS names.
//!
//! `o` operation, `u` triangle, `s` side, `d` diagonal, `i` int, `p` pointer. After `>`: the type that the function
//! returns and cuBLAS writes through its last argument: `s` float, `d` double, `i` int.

use super::blas;

blas! {
    // Level 1.
    "ippipi": cublasSaxpy_v2 saxpy_, cublasDaxpy_v2 daxpy_, cublasCaxpy_v2 caxpy_, cublasZaxpy_v2 zaxpy_;
    "ipipi": cublasScopy_v2 scopy_, cublasDcopy_v2 dcopy_, cublasCcopy_v2 ccopy_, cublasZcopy_v2 zcopy_,
        cublasSswap_v2 sswap_, cublasDswap_v2 dswap_, cublasCswap_v2 cswap_, cublasZswap_v2 zswap_;
    "ippi": cublasSscal_v2 sscal_, cublasDscal_v2 dscal_, cublasCscal_v2 cscal_, cublasZscal_v2 zscal_, cublasCsscal_v2 csscal_,
        cublasZdscal_v2 zdscal_;
    "ipipipp": cublasSrot_v2 srot_, cublasDrot_v2 drot_, cublasCsrot_v2 csrot_, cublasZdrot_v2 zdrot_;
    "pppp": cublasSrotg_v2 srotg_, cublasDrotg_v2 drotg_;
    "ipipip": cublasSrotm_v2 srotm_, cublasDrotm_v2 drotm_;
    "ipipi>s": cublasSdot_v2 sdot_;
    "ipipi>d": cublasDdot_v2 ddot_;
    "ipi>s": cublasSnrm2_v2 snrm2_, cublasScnrm2_v2 scnrm2_, cublasSasum_v2 sasum_, cublasScasum_v2 scasum_;
    "ipi>d": cublasDnrm2_v2 dnrm2_, cublasDznrm2_v2 dznrm2_, cublasDasum_v2 dasum_, cublasDzasum_v2 dzasum_;
    "ipi>i": cublasIsamax_v2 isamax_, cublasIdamax_v2 idamax_, cublasIcamax_v2 icamax_, cublasIzamax_v2 izamax_;
    // Level 2.
    "oiippipippi": cublasSgemv_v2 sgemv_, cublasDgemv_v2 dgemv_, cublasCgemv_v2 cgemv_, cublasZgemv_v2 zgemv_;
    "oiiiippipippi": cublasSgbmv_v2 sgbmv_, cublasDgbmv_v2 dgbmv_, cublasCgbmv_v2 cgbmv_, cublasZgbmv_v2 zgbmv_;
    "iippipipi": cublasSger_v2 sger_, cublasDger_v2 dger_, cublasCgeru_v2 cgeru_, cublasCgerc_v2 cgerc_, cublasZgeru_v2 zgeru_,
        cublasZgerc_v2 zgerc_;
    "uippipippi": cublasSsymv_v2 ssymv_, cublasDsymv_v2 dsymv_, cublasChemv_v2 chemv_, cublasZhemv_v2 zhemv_;
    "uiippipippi": cublasSsbmv_v2 ssbmv_, cublasDsbmv_v2 dsbmv_, cublasChbmv_v2 chbmv_, cublasZhbmv_v2 zhbmv_;
    "uipppippi": cublasSspmv_v2 sspmv_, cublasDspmv_v2 dspmv_, cublasChpmv_v2 chpmv_, cublasZhpmv_v2 zhpmv_;
    "uippipi": cublasSsyr_v2 ssyr_, cublasDsyr_v2 dsyr_, cublasCher_v2 cher_, cublasZher_v2 zher_;
    "uippip": cublasSspr_v2 sspr_, cublasDspr_v2 dspr_, cublasChpr_v2 chpr_, cublasZhpr_v2 zhpr_;
    "uippipipi": cublasSsyr2_v2 ssyr2_, cublasDsyr2_v2 dsyr2_, cublasCher2_v2 cher2_, cublasZher2_v2 zher2_;
    "uippipip": cublasSspr2_v2 sspr2_, cublasDspr2_v2 dspr2_, cublasChpr2_v2 chpr2_, cublasZhpr2_v2 zhpr2_;
    "uodipipi": cublasStrmv_v2 strmv_, cublasDtrmv_v2 dtrmv_, cublasCtrmv_v2 ctrmv_, cublasZtrmv_v2 ztrmv_,
        cublasStrsv_v2 strsv_, cublasDtrsv_v2 dtrsv_, cublasCtrsv_v2 ctrsv_, cublasZtrsv_v2 ztrsv_;
    "uodiipipi": cublasStbmv_v2 stbmv_, cublasDtbmv_v2 dtbmv_, cublasCtbmv_v2 ctbmv_, cublasZtbmv_v2 ztbmv_,
        cublasStbsv_v2 stbsv_, cublasDtbsv_v2 dtbsv_, cublasCtbsv_v2 ctbsv_, cublasZtbsv_v2 ztbsv_;
    "uodippi": cublasStpmv_v2 stpmv_, cublasDtpmv_v2 dtpmv_, cublasCtpmv_v2 ctpmv_, cublasZtpmv_v2 ztpmv_,
        cublasStpsv_v2 stpsv_, cublasDtpsv_v2 dtpsv_, cublasCtpsv_v2 ctpsv_, cublasZtpsv_v2 ztpsv_;
    // Level 3.
    "ooiiippipippi": cublasSgemm_v2 sgemm_, cublasDgemm_v2 dgemm_, cublasCgemm_v2 cgemm_, cublasZgemm_v2 zgemm_;
    "suiippipippi": cublasSsymm_v2 ssymm_, cublasDsymm_v2 dsymm_, cublasCsymm_v2 csymm_, cublasZsymm_v2 zsymm_,
        cublasChemm_v2 chemm_, cublasZhemm_v2 zhemm_;
    "uoiippippi": cublasSsyrk_v2 ssyrk_, cublasDsyrk_v2 dsyrk_, cublasCsyrk_v2 csyrk_, cublasZsyrk_v2 zsyrk_,
        cublasCherk_v2 cherk_, cublasZherk_v2 zherk_;
    "uoiippipippi": cublasSsyr2k_v2 ssyr2k_, cublasDsyr2k_v2 dsyr2k_, cublasCsyr2k_v2 csyr2k_, cublasZsyr2k_v2 zsyr2k_,
        cublasCher2k_v2 cher2k_, cublasZher2k_v2 zher2k_;
    "suodiippipi": cublasStrsm_v2 strsm_, cublasDtrsm_v2 dtrsm_, cublasCtrsm_v2 ctrsm_, cublasZtrsm_v2 ztrsm_;
}
