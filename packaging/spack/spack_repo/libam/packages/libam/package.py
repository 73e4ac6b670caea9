"""libam in Spack, from the repository that this recipe lies in."""

import pathlib

from spack_repo.builtin.build_systems.autotools import AutotoolsPackage

from spack.package import *

# packaging/spack/spack_repo/libam/packages/libam
TREE = pathlib.Path(__file__).resolve().parents[6]


class Libam(AutotoolsPackage):
    """Active Message transport: requests and replies, stores and gets,
    fetch-and-adds and MPI-style messages, by five protocols that environment
    variables show, force and tune."""

    homepage = TREE.as_uri()
    git = TREE.as_uri()

    license("MIT")

    # What the repository has committed.
    version("main")

    variant("udp", default=True, description="UDP between hosts")
    variant("ofi", default=True, description="libfabric between hosts")
    variant("sim", default=True, description="Simulated machines (am_sim)")

    depends_on("c", type="build")
    depends_on("autoconf", type="build")
    depends_on("automake", type="build")
    depends_on("libtool", type="build")
    depends_on("m4", type="build")
    depends_on("pkgconfig", type="build")
    depends_on("python@3:", type="build")  # manual pages

    depends_on("hwloc@2:")
    depends_on("jansson@2.10:")
    depends_on("libconfig@1.5:")
    depends_on("libsodium@1.0.12:", when="+udp")
    depends_on("libfabric@1.17:", when="+ofi")

    def configure_args(self):
        return [
            *self.with_or_without("udp"),
            *self.with_or_without("ofi"),
            *self.enable_or_disable("sim"),
        ]

    @run_after("install")
    @on_package_attributes(run_tests=True)
    def check_install(self):
        Executable(self.prefix.bin.am_info)("-v")
