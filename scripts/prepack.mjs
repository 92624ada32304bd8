// npm runs this in the folder of a package before it packs or publishes the package. It refuses:
// tarballs are made from the folders that `scripts/release/stage.mjs` writes.
import { basename } from 'node:path';
import { HOSTS } from './release/hosts.mjs';

const folder = basename(process.cwd());
const host = HOSTS[folder];
const next = `npm run stage && npm pack ./.packed/${host ?? folder}`;
const reason =
  host === undefined
    ? `packages/${folder} is packed from another folder.`
    : `packages/${folder} is private: the tarball of @acc/${host} contains it.`;
console.error(`${reason}\n→ ${next}, in the root of the repository`);
process.exit(1);
