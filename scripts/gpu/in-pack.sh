#!/usr/bin/env bash
# Runs a command with what `npm run gpu:pack` packed, on a machine without Node, npm or a network:
#   bash scripts/gpu/in-pack.sh node scripts/gpu/test.mjs
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

if [[ -f .gpu/pack.tar.xz && ! .gpu/unpacked -nt .gpu/pack.tar.xz ]]; then
  # Python is there for torch's sake; tar would need xz beside it.
  python3 -c "import tarfile; tarfile.open('.gpu/pack.tar.xz').extractall('.', filter='fully_trusted')"
  touch .gpu/unpacked
fi
if [[ ! -x .gpu/node/bin/node ]]; then
  echo "There is no .gpu/pack.tar.xz in $PWD. Write it where Node and npm are, and take it along: npm run gpu:pack" >&2
  exit 1
fi
export PATH="$PWD/.gpu/node/bin:$PWD/.gpu/bin:$PATH"
exec "$@"
