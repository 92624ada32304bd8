import { execFileSync } from 'node:child_process';
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { packages, programs, publishedPackages, root } from './reading/repository.js';

/** The manifests, changelogs and changesets of the repository, where versions may be changed. */
const copy = mkdtempSync(join(tmpdir(), 'acc-next-release-'));
const node = (script: string, ...args: string[]) =>
  execFileSync(process.execPath, [join(root, script), ...args], { cwd: copy, stdio: 'pipe' });
const changeset = (...args: string[]) => node('node_modules/@changesets/cli/bin.js', ...args);
/** As `npm run version-packages`, without package-lock.json. */
const version = () => {
  changeset('version');
  node('scripts/release/peer-ranges.mjs');
};

const describeChange = (name: string, bumps: string, summary: string) =>
  writeFileSync(join(copy, '.changeset', `${name}.md`), `---\n${bumps}\n---\n\n${summary}\n`);

interface Versioned {
  readonly version: string;
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly peerDependencies?: Readonly<Record<string, string>>;
}
const manifestOf = (folder: string) =>
  JSON.parse(readFileSync(join(copy, folder, 'package.json'), 'utf8')) as Versioned;
const versionsOfAll = () => [...new Set(packages.map(({ folder }) => manifestOf(folder).version))];
/** The newest entry in the changelog of a package. */
const entryOf = (folder: string) =>
  readFileSync(join(copy, folder, 'CHANGELOG.md'), 'utf8')
    .split(/^## /m)[1]!
    .split('\n')
    .filter(Boolean);

beforeAll(() => {
  const folders = [...packages, ...programs].map(({ folder }) => folder);
  const manifests = ['.', 'site', ...folders].map((folder) => join(folder, 'package.json'));
  const changelogs = publishedPackages
    .map(({ folder }) => join(folder, 'CHANGELOG.md'))
    .filter((path) => existsSync(join(root, path)));
  for (const path of [...manifests, ...changelogs]) {
    mkdirSync(dirname(join(copy, path)), { recursive: true });
    cpSync(join(root, path), join(copy, path));
  }
  for (const path of ['.changeset', 'scripts/release', '.prettierrc.json'])
    cpSync(join(root, path), join(copy, path), { recursive: true });
  symlinkSync(join(root, 'node_modules'), join(copy, 'node_modules'));
});

/** `1.0.0-beta.3` → `[1, 0, 0, 3]`; the last is undefined for a version that is no beta. */
const partsOf = (version: string) => {
  const [, major, minor, patch, beta] = /^(\d+)\.(\d+)\.(\d+)(?:-beta\.(\d+))?$/.exec(version)!;
  return { major: Number(major), minor: Number(minor), patch: Number(patch), beta };
};
const isPreMode = () => existsSync(join(copy, '.changeset', 'pre.json'));

describe('the next release', () => {
  it('takes all packages to one version, and says what changed where', () => {
    const { beta } = partsOf(versionsOfAll()[0]!);
    describeChange('a-fix', "'@acc/amp': patch\n'acc-tracker-trackio': minor", 'Something was put right.');
    version();
    const [next, ...others] = versionsOfAll();
    expect(others).toEqual([]);
    expect(partsOf(next!).beta).toBe(isPreMode() ? String(Number(beta ?? -1) + 1) : undefined);
    expect(manifestOf('packages/core').dependencies).toMatchObject({ '@acc/amp': next, '@acc/cli': next });
    expect(manifestOf('packages/tracker-mlflow').peerDependencies).toEqual({ '@acc/contract': `^${next}` });
    expect(manifestOf('examples/mnist').dependencies).toMatchObject({ '@acc/core': next });
    expect(manifestOf('examples/mnist').version).toBe('0.1.0');
    expect(publishedPackages.filter(({ folder }) => entryOf(folder)[0] !== next)).toEqual([]);
    expect(manifestOf('packages/placement').dependencies).toMatchObject({ '@acc/kernels': next });
    expect(entryOf('packages/amp')).toContain('- Something was put right.');
    expect(entryOf('packages/acc-tracker-trackio')).toContain('- Something was put right.');
  });

  it('after the betas has their number, and an addition is a minor version, also for those that have it as a peer', () => {
    const { major, minor, patch } = partsOf(versionsOfAll()[0]!);
    if (isPreMode()) {
      changeset('pre', 'exit');
      version();
    }
    expect(versionsOfAll()).toEqual([`${major}.${minor}.${patch}`]);
    describeChange('an-addition', "'@acc/contract': minor", 'Something is new.');
    version();
    const next = `${major}.${minor + 1}.0`;
    expect(versionsOfAll()).toEqual([next]);
    expect(manifestOf('packages/tracker-mlflow').peerDependencies).toEqual({ '@acc/contract': `^${next}` });
    expect(entryOf('packages/contract')).toEqual([next, '### Minor Changes', '- Something is new.']);
    // No list of the packages that moved along.
    expect(entryOf('packages/core').join()).not.toMatch(/dependencies|@acc\//);
  });
});
