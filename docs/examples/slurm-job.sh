#!/bin/sh
# A program that calls Node::join, under Slurm: one process, and so one node, per host. It needs no settings.
#SBATCH --job-name=actinium
#SBATCH --nodes=4
#SBATCH --ntasks-per-node=1
#SBATCH --exclusive
#SBATCH --time=00:10:00

# Built with the feature zenoh, or mpi. Anybody who reaches the port may join over Zenoh: on a shared network give
# certificates, too (ACTINIUM_TLS_*).
exec srun --kill-on-bad-exit=1 job
