#!/usr/bin/env bash
# Runs a plan of `hocket lab plan` on a real Slurm and brings its records together.
#
#   ci/fleet.sh [PROGRAM]     without PROGRAM, hocket is built first
#
# The cluster is this machine as two nodes. Its configuration, key, sockets, spool and logs are in a
# temporary folder, its ports are free ones; nothing in /etc is read or changed, and every daemon ends
# with the script. It needs slurmctld, slurmd and munge (fetched by apt-get where that is possible without a
# question) and root; where they cannot be had it says SKIPPED and passes.
. "$(dirname "$0")/lib.sh"
. ci/apt.sh

program=${1:-}
PATH=$PATH:/usr/sbin
daemons=()

main() {
  trap clean_up EXIT
  [ "$(id -u)" -eq 0 ] || { skip fleet "slurmctld and slurmd are started by root only" && return; }
  needed || { skip fleet "slurmctld, slurmd and munge are needed: ${why_not:-not installable here}" && return; }
  build
  folder=$(mktemp -d -t hocket-fleet.XXXXXX)
  chmod 755 "$folder"
  stage cluster cluster
  stage lab measure
  stage renders render
}

needed() {
  have slurmctld && have slurmd && have munged && have sbatch && return
  apt_install slurmctld slurmd slurm-client munge
  have slurmctld && have slurmd && have munged && have sbatch
}

build() {
  [ -z "$program" ] || return 0
  cargo build --locked -q -p hocket
  program=${CARGO_TARGET_DIR:-target}/debug/hocket
}

# --- the cluster --------------------------------------------------------------

cluster() {
  local spool="$folder/cluster"
  mkdir -p "$spool"/{munge,state,logs}
  chmod 700 "$spool/munge"
  (umask 077 && head -c 1024 /dev/urandom >"$spool/munge/key")
  start munged --foreground --force --key-file="$spool/munge/key" --socket="$spool/munge/socket" \
    --pid-file="$spool/munge/pid" --log-file="$spool/munge/log" --seed-file="$spool/munge/seed"
  export SLURM_CONF=$spool/slurm.conf
  configuration "$spool" >"$SLURM_CONF"
  start slurmctld -D -f "$SLURM_CONF"
  for node in node1 node2; do start slurmd -D -N "$node" -f "$SLURM_CONF"; done
  for _ in $(seq 60); do
    [ "$(sinfo -h -N -t idle -o %N 2>/dev/null | wc -l)" -eq 2 ] && sinfo -N && return
    sleep 0.5
  done
  tail -n 20 "$spool"/logs/*
  echo "fleet: FAILED: the cluster does not come up" && return 1
}

start() { # COMMAND...
  "$@" >"$folder/cluster/logs/${#daemons[@]}-$1.txt" 2>&1 &
  daemons+=($!)
}

configuration() { # FOLDER
  local ports
  read -ra ports < <(free_ports 3)
  cat <<CONF
ClusterName=hocket
SlurmctldHost=$(hostname)(127.0.0.1)
SlurmctldPort=${ports[0]}
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket=$1/munge/socket
CredType=cred/munge
StateSaveLocation=$1/state
SlurmdSpoolDir=$1/spool-%n
SlurmctldPidFile=$1/slurmctld.pid
SlurmdPidFile=$1/slurmd-%n.pid
SlurmctldLogFile=$1/logs/slurmctld.log
SlurmdLogFile=$1/logs/slurmd-%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/affinity
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SchedulerParameters=sched_interval=1,sched_min_interval=100000,batch_sched_delay=0
MpiDefault=none
SwitchType=switch/none
JobAcctGatherType=jobacct_gather/none
NodeName=node1 NodeHostname=$(hostname) NodeAddr=127.0.0.1 Port=${ports[1]} CPUs=$(nproc)
NodeName=node2 NodeHostname=$(hostname) NodeAddr=127.0.0.1 Port=${ports[2]} CPUs=$(nproc)
PartitionName=all Nodes=node1,node2 Default=YES MaxTime=INFINITE State=UP
CONF
}

# Ports on which nobody listens, below those that the system deals out by itself.
free_ports() { # HOW_MANY
  local found=() port
  while [ ${#found[@]} -lt "$1" ]; do
    port=$((20000 + RANDOM % 10000))
    (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null || found+=("$port")
  done
  echo "${found[@]}"
}

clean_up() {
  local pid
  # A job outlives the daemon that started it.
  [[ "${folder:-}" && "${SLURM_CONF:-}" == "$folder"/* ]] && timeout 5 scancel --full --user=root || true
  for pid in "${daemons[@]}"; do kill "$pid" 2>/dev/null || true; done
  for pid in "${daemons[@]}"; do wait "$pid" 2>/dev/null || true; done
  [ -z "${folder:-}" ] || rm -rf "$folder"
}

# --- what is done on it -------------------------------------------------------

measure() {
  hosts >"$folder/hosts.toml"
  "$program" lab plan aa --time 3s --hosts "$folder/hosts.toml" --for slurm -o "$folder/lab"
  submit_and_wait "$folder/lab"
  # The second record is named twice: its run is taken once.
  "$program" lab merge "$folder/all.sqlite" "$folder"/lab/records/*.sqlite "$folder/lab/records/node2.sqlite"
  answer "$folder/all.sqlite" 'node1 1
node2 1' "SELECT meta ->> '\$.job.host' || ' ' || count(DISTINCT rows.experiment) AS answer
    FROM runs JOIN rows USING (run) GROUP BY runs.run ORDER BY 1"
}

render() {
  mkdir "$folder/sessions"
  local name
  for name in one two three; do session "$name" >"$folder/sessions/$name.toml"; done
  "$program" lab plan --renders "$folder/sessions" --hosts "$folder/hosts.toml" --for slurm \
    -o "$folder/renders"
  submit_and_wait "$folder/renders"
  "$program" lab merge "$folder/renders.sqlite" "$folder"/renders/records/*.sqlite
  # Three files that sound the same were rendered on two hosts: one hash.
  answer "$folder/renders.sqlite" '2 3 1' "SELECT count(DISTINCT meta ->> '\$.job.host') || ' '
    || count(*) || ' ' || count(DISTINCT render.value ->> '\$.sha256') AS answer
    FROM runs, json_each(meta, '\$.renders') AS render"
}

hosts() {
  cat <<HOSTS
[[host]]
name = "node1"
hostname = "$(hostname)"
partition = "all"

[[host]]
name = "node2"
hostname = "$(hostname)"
partition = "all"
cpus = "0"
HOSTS
}

session() { # NAME
  cat <<SESSION
# $1
[session]
sample_rate_hz = 48000
length_s = 1
resample = true

[[track]]
name = "Snare"
clip = [{ file = "$PWD/sessions/audio/drum_snare_hard.flac", start_s = 0 }]
SESSION
}

submit_and_wait() { # PLAN
  local id
  id=$("$1/submit.sh")
  echo "array $id"
  for _ in $(seq 240); do
    [ -n "$(squeue -h -j "$id" 2>/dev/null)" ] || break
    sleep 0.5
  done
  squeue
  tail -n 40 "$1"/logs/*.txt
  [ "$(find "$1/records" -name '*.sqlite' | wc -l)" -eq 2 ] && return
  echo "fleet: FAILED: not every host wrote its record" && return 1
}

answer() { # RECORD EXPECTED SQL
  local got
  got=$("$program" lab query --records "$1" --csv "$3" | tr -d '\r' | sed 1d)
  [ "$got" = "$2" ] && echo "$got" && return
  printf 'fleet: FAILED: expected\n%s\nand got\n%s\n' "$2" "$got" && return 1
}

run_logged fleet
