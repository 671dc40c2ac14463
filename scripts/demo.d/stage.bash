# shellcheck shell=bash
# What the story in scripts/demo is told with: typography, claims that end the story when they are not so, and the end itself.

# ---- typography

# Colours are for terminals; NO_COLOR turns them off and CLICOLOR_FORCE turns them on (no-color.org, bixense.com/clicolors).
if [ -n "${NO_COLOR:-}" ] || { [ ! -t 1 ] && [ "${CLICOLOR_FORCE:-0}" = 0 ]; }; then
    BOLD='' DIM='' GREEN='' RED='' CYAN='' PLAIN=''
else
    BOLD=$'\e[1m' DIM=$'\e[2m' GREEN=$'\e[32m' RED=$'\e[31m' CYAN=$'\e[36m' PLAIN=$'\e[0m'
fi
WIDTH=100
BEGUN=${EPOCHREALTIME/[.,]/}
ACT=0
CLAIMS=0

# Seconds since the beginning, with one decimal.
elapsed() {
    local tenths=$(((${EPOCHREALTIME/[.,]/} - BEGUN) / 100000))
    printf '%d.%d s' $((tenths / 10)) $((tenths % 10))
}

act() {
    local title=$1 time line
    ACT=$((ACT + 1))
    time=$(elapsed)
    printf -v line '%*s' $((WIDTH - ${#title} - ${#time} - 5)) ''
    printf '\n%s%-2s %s%s %s%s %s%s\n' "$BOLD$CYAN" "$ACT" "$PLAIN$BOLD" "$title" "$PLAIN$DIM" "${line// /─}" "$time" "$PLAIN"
}

# A sentence of the story.
say() { printf '   %s\n' "$*"; }

# What a program printed.
quote() { sed "s/^/   $DIM/; s/\$/$PLAIN/"; }

# Shows a command line as a person would type it.
prompt() { printf '   %s$%s %s\n' "$CYAN" "$PLAIN" "$*"; }

# run COMMAND...: shows it, runs it, quotes what it prints.
run() {
    prompt "$(spelled "$@")"
    "$@" 2>&1 | quote
}

# A command line with quotes only where a shell needs them.
spelled() {
    local word text=''
    for word; do
        case $word in
            '' | *[!A-Za-z0-9_./:=,@%+-]*) word="'${word//\'/\'\\\'\'}'" ;;
        esac
        text+="${text:+ }$word"
    done
    printf '%s' "$text"
}

# How far something has come, on a line that is gone when it is done. Only for a person who watches.
progress() { [ ! -t 1 ] || printf '\r\e[K%s' "${1:+   $DIM$1$PLAIN}"; }

# ---- claims

# Everything that the story claims passes here, and has been checked by then.
ok() {
    CLAIMS=$((CLAIMS + 1))
    printf '   %s✓%s %s\n' "$GREEN" "$PLAIN" "$*"
}

# The story is not so. What follows the first argument are details.
fail() {
    printf '   %s✗ %s%s\n' "$RED" "$1" "$PLAIN"
    shift
    [ $# = 0 ] || printf '%s\n' "$@" | sed 's/^/     /'
    exit 1
}

# equal WHAT WANTED FOUND
equal() {
    [ "$2" = "$3" ] || fail "$1" "it should be: $2" "it is:        $3"
}

# until_true SECONDS WHAT COMMAND...: waits for a command to succeed.
until_true() {
    local deadline=$((SECONDS + $1)) what=$2
    shift 2
    until "$@"; do
        [ $SECONDS -lt "$deadline" ] || fail "this did not happen in time: $what"
        sleep 0.1
    done
}

# ---- the end, however it comes

WORK=$(mktemp -d "${TMPDIR:-/tmp}/ramparts-demo.XXXXXX")
# Processes of ours, last started first.
STARTED=()

started() { STARTED=("$1" "${STARTED[@]}"); }

# kill_hard PID: one of ours. Its number may be another's soon, so it is forgotten.
kill_hard() {
    local pid others=()
    kill -9 "$1"
    wait "$1" 2>/dev/null || true
    for pid in "${STARTED[@]}"; do
        [ "$pid" = "$1" ] || others+=("$pid")
    done
    STARTED=("${others[@]}")
}

# The end of what we started, waited for: nothing of the demo outlives it.
end_all() {
    local pid
    for pid in "${STARTED[@]}"; do
        kill "$pid" 2>/dev/null || true
        wait "$pid" 2>/dev/null || true
    done
    STARTED=()
}

at_exit() {
    local status=$?
    trap - ERR
    set +e
    if [ $status != 0 ] && [ $status -lt 128 ]; then
        printf '\n%sThe demo stopped: something it claims is not so, or could not be shown.%s\n' "$BOLD$RED" "$PLAIN"
        [ ! -s "$WORK/operator.log" ] || {
            printf 'The operator said last:\n'
            tail -n 8 "$WORK/operator.log" | quote
        }
    fi
    end_all
    rm -rf "$WORK"
    exit $status
}
trap at_exit EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
trap 'exit 129' HUP
trap 'exit 141' PIPE
trap 'printf "   %s✗ unexpected: line %s of %s failed%s\n" "$RED" "$LINENO" "${BASH_SOURCE[0]##*/}" "$PLAIN"' ERR
