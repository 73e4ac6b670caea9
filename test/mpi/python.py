"""mpi4py's main calls, each once: objects, buffers, files, windows, groups."""
import os
import tempfile

from mpi4py import MPI

world = MPI.COMM_WORLD
rank, size = world.rank, world.size
right, left = (rank + 1) % size, (rank - 1) % size

assert world.bcast({"a": [1, 2]} if rank == 0 else None) == {"a": [1, 2]}
assert world.sendrecv(rank, right, source=left) == left
assert world.allgather(rank * rank) == [n * n for n in range(size)]
assert world.allreduce(1 << rank) == (1 << size) - 1

out, into = bytearray([rank]) * 100000, bytearray(100000)
request = world.Irecv(into, source=left)
world.Isend(out, dest=right).Wait()
request.Wait()
assert into == bytearray([left]) * 100000

memory = bytearray(8)
window = MPI.Win.Create(memory, comm=world)
window.Fence()
window.Put(bytearray([rank] * 8), right)
window.Fence()
assert memory == bytearray([left] * 8)
window.Free()

half = world.Split(rank % 2, rank)
assert half.size == (size + 1 - rank % 2) // 2
half.Free()

name = world.bcast(os.path.join(tempfile.mkdtemp(), "f") if rank == 0 else None)
file = MPI.File.Open(world, name, MPI.MODE_CREATE | MPI.MODE_RDWR)
file.Write_at_all(rank * 8, bytearray([rank] * 8))
file.Sync()
world.Barrier()
file.Read_at_all(left * 8, memory)
assert memory == bytearray([left] * 8)
file.Close()
world.Barrier()
if rank == 0:
    os.unlink(name)
    os.rmdir(os.path.dirname(name))
    print("all well")
