#!/usr/bin/env bash
# Compare the models in logs, and say so in the summary of the job and on the pull request.
# Everything comes from the environment that action.yml sets: what a log or an input holds is data,
# and never a part of this program.
set -euo pipefail

marker="<!-- psychollm compare: ${KEY:-} -->"
body="${RUNNER_TEMP:-/tmp}/psychollm-comment.md"

if [[ ! "${KEY:-}" =~ ^[A-Za-z0-9-]*$ ]]; then
  echo "key: '$KEY' may hold letters, digits and hyphens only" >&2
  exit 2
fi
mapfile -t logs < <(printf '%s\n' "$LOGS" | sed 's/^[[:space:]]*//; s/[[:space:]]*$//; /^$/d')
# Quoted as in a shell, and on as many lines as one likes.
printf '%s' "${ARGUMENTS:-}" | python -c '
import shlex, sys
try:
    print(*shlex.split(sys.stdin.read()), sep="\0", end="\0")
except ValueError as error:
    sys.exit(f"arguments: {error}")' >"$body.arguments" || exit 2
mapfile -d '' -t arguments <"$body.arguments"
[[ -n "${arguments[*]}" ]] || arguments=()
# With --fail-below the command may print its comparison and exit with code 1: the comment is written,
# and then the step fails.
status=0
psychollm compare "${arguments[@]}" --markdown -- "${logs[@]}" >"$body.found" || status=$?
[[ $status -eq 0 || (-s "$body.found" && $status -eq 1) ]] || exit "$status"

# Names of models come out of logs: none of them is to call anybody, or to name an issue. GitHub
# takes 65,536 characters. A title is one line.
title="${TITLE:-Which model is better?}"
title="${title//[$'\r\n']/ }"
{
  printf '%s\n### %s\n\n' "$marker" "$title"
  head -c 60000 "$body.found" | iconv -c -f utf-8 -t utf-8
} | sed '2,$s/@/@\xE2\x80\x8B/g; 4,$s/#\([0-9]\)/#\xE2\x80\x8B\1/g' >"$body"

cat "$body" >>"${GITHUB_STEP_SUMMARY:-/dev/null}"
printf 'markdown=%s\n' "$body" >>"${GITHUB_OUTPUT:-/dev/null}"

if [[ -z "${PULL_REQUEST:-}" || "${COMMENT:-true}" != true ]]; then
  echo "No pull request to comment on: the comparison is in the summary of the job."
  exit "$status"
fi
comments="repos/$GITHUB_REPOSITORY/issues/$PULL_REQUEST/comments"
# Our comment of an earlier run is brought up to date; a pull request gets one for each key. Whoever
# else begins a comment with our marker keeps it.
ME=$(gh api graphql -f 'query={viewer{login}}' --jq .data.viewer.login)
export ME
earlier=$(gh api --paginate "$comments" --jq \
  ".[] | select(.user.login == env.ME and (.body | startswith(\"$marker\"))) | .id" | sed -n 1p)
if [[ -n "$earlier" ]]; then
  gh api --method PATCH "repos/$GITHUB_REPOSITORY/issues/comments/$earlier" -F "body=@$body" --silent
else
  gh api --method POST "$comments" -F "body=@$body" --silent
fi
exit "$status"
