#!/bin/sh
# Actinium's probe as an MPI job under Slurm: one rank, and so one node, per socket.
#SBATCH --job-name=actinium
#SBATCH --nodes=4
#SBATCH --ntasks-per-socket=1
#SBATCH --exclusive
#SBATCH --time=00:10:00

# The binary was built with --features mpi, against the MPI that is loaded here.
exec srun --cpu-bind=sockets actinium probe --fabric mpi --json
