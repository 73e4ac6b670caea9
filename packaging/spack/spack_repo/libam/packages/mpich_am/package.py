"""MPICH on libam in Spack: the network module of the repository that this
recipe lies in, laid over a release of MPICH."""

import pathlib

from spack_repo.builtin.build_systems.generic import Package
from spack_repo.builtin.packages.mpich.package import MpichEnvironmentModifications

from spack.package import *

# packaging/spack/spack_repo/libam/packages/mpich_am
TREE = pathlib.Path(__file__).resolve().parents[6]


class MpichAm(MpichEnvironmentModifications, Package):
    """MPICH whose messages travel by libam's Active Messages: environment
    variables show which protocol carries a message, force another one, and
    move the thresholds between them."""

    homepage = "https://www.mpich.org"
    url = "https://www.mpich.org/static/downloads/4.0.2/mpich-4.0.2.tar.gz"
    list_url = "https://www.mpich.org/static/downloads/"
    list_depth = 1

    license("mpich2")

    # Those of mpich-netmod/scripts/releases that Spack's own recipe has; the
    # whole of MPICH's suite was run with the preferred one.
    version(
        "4.0.2",
        sha256="5a42f1a889d4a2d996c26e48cbf9c595cbf4316c6814f7c181e3320d21dedd42",
        preferred=True,
    )
    version("5.0.1", sha256="8c1832a13ddacf071685069f5fadfd1f2877a29e1a628652892c65211b1f3327")
    version("4.3.2", sha256="47d774587a7156a53752218c811c852e70ac44db9c502dc3f399b4cb817e3818")
    version("4.2.3", sha256="7a019180c51d1738ad9c5d8d452314de65e828ee240bcb2d1f80de9a65be88a8")
    version("4.2.1", sha256="23331b2299f287c3419727edc2df8922d7e7abbb9fd0ac74e03b9966f9ad42d7")
    version("4.0.3", sha256="17406ea90a6ed4ecd5be39c9ddcbfac9343e6ab4f77ac4e8c5ebe4a3e3b6c501")

    variant("fortran", default=True, description="Fortran's bindings")
    variant("romio", default=True, description="Files by MPI (ROMIO)")

    provides("mpi@:5.0", when="@5:")
    provides("mpi@:4.0", when="@:4")

    depends_on("c", type="build")
    depends_on("cxx", type="build")
    depends_on("fortran", type="build", when="+fortran")
    depends_on("autoconf", type="build")
    depends_on("automake", type="build")
    depends_on("gmake", type="build")
    depends_on("libtool", type="build")
    depends_on("m4", type="build")
    depends_on("pkgconfig", type="build")
    depends_on("python@3:", type="build")
    depends_on("perl", type="build")

    depends_on("libam")
    depends_on("hwloc@2:")

    filter_compiler_wrappers("mpicc", "mpicxx", "mpif77", "mpif90", "mpifort", relative_root="bin")

    # The module and what builds it, beside the files of MPICH.
    resource(name="libam", git=TREE.as_uri(), destination="", placement="libam")

    def install(self, spec, prefix):
        def able(name):
            return f"--{'enable' if '+' + name in spec else 'disable'}-{name}"

        build = Executable(join_path(self.stage.source_path, "libam/mpich-netmod/scripts/build"))
        build(
            f"--with-am={spec['libam'].prefix}",
            f"--prefix={prefix}",
            f"--build-dir={join_path(self.stage.path, 'am-build')}",
            f"--with-mpich-source={self.stage.source_path}",
            f"--jobs={make_jobs}",
            f"--with-hwloc={spec['hwloc'].prefix}",
            "--enable-cxx",
            able("romio"),
            able("fortran"),
        )
