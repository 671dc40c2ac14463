# shellcheck shell=bash
# How the story looks at the world, independently of the operator: the stored values through the AWS sandbox's own endpoint, the
# verifiers as PostgreSQL's superuser, sessions that were opened once and are only ever asked whether they are still the same.
# No function here prints a secret; those that return one say so.

# ---- AWS

# Calls are signed with a key of their own, so that the sandbox's log tells them from the operator's.
ssm() {
    curl -fsS --user demo:demo --aws-sigv4 "aws:amz:$AWS_REGION:ssm" "$AWS_ENDPOINT_URL" \
        -H 'Content-Type: application/x-amz-json-1.1' -H "X-Amz-Target: AmazonSSM.$1" -d "$2"
}

sandbox_api() { curl -fsS "$AWS_ENDPOINT_URL/_sandbox/$1" "${@:2}"; }

# parameter NAME: the document that pods read. It is a secret.
parameter() {
    ssm GetParameter "$(jq -nc --arg name "$1" '{Name: $name, WithDecryption: true}')" | jq -er .Parameter.Value
}

# field NAME KEY: one value of that document.
field() { parameter "$1" | jq -er --arg key "$2" '.[$key]'; }

# A document with its passwords masked.
masked() { jq 'map_values(gsub("rmp_[A-Za-z0-9]+"; "rmp_…"))'; }

# stored PATH: every parameter below a path, one line each: name, version, value. It is a secret.
stored() {
    local token='' page
    while :; do
        page=$(ssm GetParametersByPath "$(jq -nc --arg path "$1" --arg token "$token" \
            '{Path: $path, Recursive: true, WithDecryption: true} + if $token == "" then {} else {NextToken: $token} end')")
        jq -r '.Parameters[] | [.Name, .Version, .Value] | @tsv' <<<"$page"
        token=$(jq -r '.NextToken // ""' <<<"$page")
        [ -n "$token" ] || break
    done | sort
}

# The number of the last call in the log, and what the operator has asked for since.
last_call() { sandbox_api calls | jq 'last.seq // 0'; }
calls_since() { sandbox_api "calls?since=$1" | jq -c '.[] | select(.caller != "demo")'; }
# One word per write: `PutParameter:/ramparts/acme/api`.
writes_since() {
    sandbox_api "writes?since=$1" | jq -r '.[] | select(.caller != "demo") | "\(.operation):\(.key)\(.flags | map(":" + .) | add // "")"'
}

# ---- PostgreSQL

# As the superuser, through the server's own socket.
superuser() { PGOPTIONS='' psql -XqAt -h "$SANDBOX_PGSOCKET" -U postgres -d postgres -c "$1"; }

# Every login of Ramparts with its oid and its verifier, byte for byte. It is a secret.
verifiers() {
    superuser "select rolname, oid, rolpassword from pg_authid
        where rolcanlogin and shobj_description(oid, 'pg_authid') like 'ramparts v1 % app=%' order by rolname"
}

# The server logs every statement. How many of the operator's since that line could have changed something?
log_lines() { wc -l <"$SANDBOX_PGSOCKET/server.log"; }
changes_since() {
    tail -n "+$(($1 + 1))" "$SANDBOX_PGSOCKET/server.log" |
        grep -cE ' ramparts@.* (statement|execute [^:]*): (COMMIT|CREATE|ALTER|GRANT|REVOKE|COMMENT|DROP)' || true
}

# ---- the operator's own count

external_calls() {
    curl -fsS "http://$LISTEN/metrics" | awk '/^ramparts_external_calls_total/ { calls += $NF } END { print calls + 0 }'
}

# ---- sessions that stay open

# The logins' passwords for psql: filled from the documents, read by libpq, never on a command line.
remember_login() { printf '*:*:*:%s:%s\n' "$(field "$1" database_username)" "$(field "$1" database_password)" >>"$PGPASSFILE"; }

# cache PARAMETER ARGUMENT...: redis-cli with the user, password, host and port of that document.
cache() {
    local document
    document=$(parameter "$1")
    shift
    REDISCLI_AUTH=$(jq -er .cache_password <<<"$document") redis-cli --tls --cacert "$SANDBOX_CA" \
        -h "$(jq -er .cache_host <<<"$document")" -p "$(jq -er .cache_port <<<"$document")" \
        --user "$(jq -er .cache_username <<<"$document")" "$@"
}

open_sessions() {
    mkfifo "$WORK/sql.in" "$WORK/sql.out" "$WORK/cache.in" "$WORK/cache.out"
    psql -XqAt -U acme_api -d acme <"$WORK/sql.in" >"$WORK/sql.out" 2>&1 &
    started $!
    exec {SQL_IN}>"$WORK/sql.in" {SQL_OUT}<"$WORK/sql.out"
    cache /ramparts/acme/api <"$WORK/cache.in" >"$WORK/cache.out" 2>&1 &
    started $!
    exec {CACHE_IN}>"$WORK/cache.in" {CACHE_OUT}<"$WORK/cache.out"
}

# Numbers that a client which has connected anew would not have.
sql_session() { ask_sql 'select pg_backend_pid();'; }
cache_session() { ask_cache 'client id'; }

# One line in, one line out.
ask_sql() {
    local answer='no answer'
    printf '%s\n' "$1" >&"$SQL_IN"
    read -r -t 10 answer <&"$SQL_OUT" || true
    printf '%s' "$answer"
}
ask_cache() {
    local answer='no answer'
    printf '%s\n' "$1" >&"$CACHE_IN"
    read -r -t 10 answer <&"$CACHE_OUT" || true
    printf '%s' "$answer"
}

# ---- every version of every Tenant

record_versions() {
    kubectl get tenants --watch -o json >"$WORK/versions.json" 2>"$WORK/versions.err" &
    started $!
}

# Whether the recording has caught up with the API server.
recorded_all() {
    local wanted
    wanted=$(kubectl get tenants -o json | jq -c '[.items[].metadata.resourceVersion]')
    jq -es --argjson wanted "$wanted" '[.[].metadata.resourceVersion] as $seen | $wanted - $seen == []' "$WORK/versions.json" >/dev/null
}

# One line per fault: a status that lost a field it had, or a flag that fell back.
status_faults() {
    jq -rs 'group_by(.metadata.uid)[]
        | reduce .[] as $version ({last: null, faults: []};
            ($version.status // null) as $now
            | .last as $last
            | if .last != null and ($now == null or ((.last | keys) - ($now | keys) != []))
                then .faults += ["\($version.metadata.name): a status field vanished"] else . end
            | if $now != null and (["dbReady", "redisReady", "credentialsReady"] - ($now | keys) != [])
                then .faults += ["\($version.metadata.name): a ready flag is missing"] else . end
            | if .last != null and any("dbReady", "redisReady", "credentialsReady"; . as $flag | $last[$flag] and ($now[$flag] | not))
                then .faults += ["\($version.metadata.name): a ready flag fell back"] else . end
            | .last = ($now // .last))
        | .faults[]' "$WORK/versions.json"
}
