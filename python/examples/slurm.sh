#!/bin/sh
# A sweep on Slurm: sbatch slurm.sh lives.py 10000 STORE
#
# STORE is a folder that all nodes see. When the time is over, submit it again: it goes on with what is missing.
#SBATCH --job-name=boardlab
#SBATCH --ntasks=64
#SBATCH --cpus-per-task=1
#SBATCH --time=04:00:00
set -eu
python=${PYTHON:-python3}
run=${RUN:-$PWD}/dask-$SLURM_JOB_ID
mkdir -p "$run"
export SCHEDULER_FILE="$run/scheduler.json"

"$python" -m distributed.cli.dask_scheduler --scheduler-file "$SCHEDULER_FILE" --no-dashboard --no-show --port 0 &
scheduler=$!
srun --ntasks="$SLURM_NTASKS" "$python" -m distributed.cli.dask_worker --scheduler-file "$SCHEDULER_FILE" \
    --nthreads 1 --nworkers 1 --no-dashboard --local-directory "${TMPDIR:-/tmp}" &
workers=$!
trap 'kill $workers $scheduler 2>/dev/null || true' EXIT

"$python" "$@"
