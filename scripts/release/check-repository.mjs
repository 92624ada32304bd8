// Compares the repository of the manifests with that of the running workflow. npm verifies it, and
// refuses packages whose provenance names another repository.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { root } from '../process.mjs';

const { GITHUB_SERVER_URL: server, GITHUB_REPOSITORY: repository } = process.env;
const { url } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')).repository;
const expected = `git+${server}/${repository}.git`;
if (url !== expected) {
  console.error(`The manifests name ${url}, and this is ${expected}.`);
  console.error(`→ npm pkg set repository.url=${expected} --workspaces --include-workspace-root`);
  process.exit(1);
}
