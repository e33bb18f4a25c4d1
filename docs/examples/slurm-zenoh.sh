#!/bin/sh
# Actinium's probe over Zenoh under Slurm: one process per host, all of which connect to the first host's.
#SBATCH --job-name=actinium
#SBATCH --nodes=4
#SBATCH --ntasks-per-node=1
#SBATCH --exclusive
#SBATCH --time=00:10:00

first=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)
export ACTINIUM_CLUSTER="job-$SLURM_JOB_ID"
export ACTINIUM_NODES="$SLURM_NTASKS"
export ACTINIUM_CONNECT="tcp/$first:7447"
export ACTINIUM_LISTEN="tcp/0.0.0.0:7447"

# The first connects to nobody. Anybody who reaches the port may join: on a shared network give certificates, too.
exec srun --kill-on-bad-exit=1 sh -c '
    export ACTINIUM_NODE="$SLURM_PROCID"
    if [ "$ACTINIUM_NODE" = 0 ]; then unset ACTINIUM_CONNECT; fi
    exec actinium probe --fabric zenoh --json'
