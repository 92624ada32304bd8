import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { oldNode } from '@acc/platform/node-version';
import { isInRange } from '../../scripts/node-range.mjs';
import {
  filesUnder,
  packages,
  privatePackages,
  programs,
  publishedPackages,
  readText,
  root,
  type Manifest,
} from './reading/repository.js';

interface Published extends Manifest {
  readonly version: string;
  readonly description?: string;
  readonly keywords?: readonly string[];
  readonly license?: string;
  readonly repository?: { readonly type: string; readonly url: string; readonly directory?: string };
  readonly engines?: Readonly<Record<string, string>>;
  readonly scripts?: Readonly<Record<string, string>>;
  readonly publishConfig?: Readonly<Record<string, unknown>>;
}

const read = (folder: string) => JSON.parse(readText(join(folder, 'package.json'))) as Published;
const own = read('.');
const all = packages.map(({ folder }) => ({ folder, manifest: read(folder) }));
const published = publishedPackages.map(({ folder }) => ({ folder, manifest: read(folder) }));
const lock = (
  JSON.parse(readText('package-lock.json')) as { packages: Record<string, Published | undefined> }
).packages;

/** The folders of the published packages, or of others, for which the condition is false. */
const failing = (
  condition: (manifest: Published, folder: string) => unknown,
  candidates = published,
): string[] =>
  candidates.filter(({ manifest, folder }) => !condition(manifest, folder)).map(({ folder }) => folder);

/** Scripts that package managers run while they install a package. */
const INSTALL_SCRIPTS = ['preinstall', 'install', 'postinstall', 'prepare'];

/** Values that several packages have. */
const repeated = (values: readonly unknown[]): unknown[] =>
  values.filter((value, i) => values.indexOf(value) !== i);

describe('what npm shows of each package', () => {
  it('is a description of its own', () => {
    expect(published.length).toBeGreaterThan(15);
    const isOfSize = ({ description = '' }: Published) =>
      description.length >= 40 && description.length <= 200;
    const isOfField = ({ description = '' }: Published) =>
      /TensorFlow(\.js)?|tfjs|Node\.js/.test(description);
    expect(failing(isOfSize, all), 'need a description of 40 to 200 characters').toEqual([]);
    expect(failing(isOfField, all), 'need TensorFlow, tfjs or Node.js in the description').toEqual([]);
    const same = repeated(all.map(({ manifest }) => manifest.description));
    expect(same, 'are the descriptions of several packages').toEqual([]);
  });

  it("is keywords of the field, which people search for, beside the library's", () => {
    const shared = ['tensorflow.js', 'tfjs', 'accelerate'];
    const ownWords = ({ keywords = [] }: Published) => keywords.filter((word) => !shared.includes(word));
    const hasShared = ({ keywords = [] }: Published) => shared.every((word) => keywords.includes(word));
    const isSpelled = ({ keywords = [] }: Published) => keywords.every((word) => /^[a-z0-9.-]+$/.test(word));
    expect(failing(hasShared), `need the keywords ${shared.join(', ')}`).toEqual([]);
    expect(
      failing((manifest) => ownWords(manifest).length >= 5),
      `need at least 5 keywords of their own, besides ${shared.join(', ')}`,
    ).toEqual([]);
    expect(
      failing(({ keywords = [] }) => repeated(keywords).length === 0),
      'have a keyword twice',
    ).toEqual([]);
    expect(failing(isSpelled), 'have keywords with other characters than a-z, 0-9, . and -').toEqual([]);
    const same = repeated(published.map(({ manifest }) => ownWords(manifest).sort().join()));
    expect(same, 'are the keywords of several packages').toEqual([]);
  });

  it('is found for a tracker by the keyword that trackers share', () => {
    const trackers = published.filter(({ folder }) => /\/(acc-)?tracker-/.test(folder));
    expect(trackers.length).toBeGreaterThanOrEqual(5);
    const unfound = trackers.filter(({ manifest }) => !manifest.keywords?.includes('acc-tracker'));
    expect(
      unfound.map(({ folder }) => folder),
      "need the keyword 'acc-tracker'",
    ).toEqual([]);
  });

  it.each(['18.20.8', '20.18.3', '20.19.0', '21.7.3', '22.11.0', '22.12.0', '23.0.0', '24.0.0', '26.10.0'])(
    'Node.js %s is in engines if it can run the packages',
    (version) => {
      const canRun = oldNode({ node: version }) === undefined;
      expect(isInRange(version, own.engines!['node']!)).toBe(canRun);
    },
  );

  it('is license, source, engines and proof of its origin', () => {
    expect(
      failing(({ license }) => license === own.license),
      `need the license ${own.license}`,
    ).toEqual([]);
    expect(own.repository?.url).toMatch(/^git\+https:\/\/.*\.git$/);
    for (const { folder, manifest } of all) {
      expect(manifest.repository, folder).toEqual({ ...own.repository, directory: folder });
      expect(manifest.engines, folder).toEqual(own.engines);
      expect(existsSync(join(root, folder, 'README.md')), `${folder} has a README.md`).toBe(true);
    }
    const hasNoScript = ({ scripts = {} }: Published) => !INSTALL_SCRIPTS.some((name) => name in scripts);
    expect(failing(hasNoScript), 'have an install script').toEqual([]);
    // Package managers run node-gyp for such a package, and Yarn does so despite `gypfile: false`.
    const hasNoGyp = (_: Published, folder: string) =>
      !readdirSync(join(root, folder)).some((name) => name.endsWith('.gyp'));
    expect(failing(hasNoGyp), 'have a .gyp file in their root').toEqual([]);
    for (const { folder, manifest } of published) {
      const directory = folder.replace('packages/', '../../.packed/');
      expect(manifest.publishConfig, folder).toEqual({ access: 'public', provenance: true, directory });
    }
  });
});

it('a private package has nothing for npm', () => {
  expect(privatePackages.length).toBeGreaterThan(10);
  const forNpm = ['keywords', 'publishConfig', 'bin'];
  const having = ({ manifest }: { manifest: Manifest }) => forNpm.some((key) => key in manifest);
  expect(privatePackages.filter(having)).toEqual([]);
});

describe('versions', () => {
  const versions = published.map(({ manifest }) => manifest.version);
  const countOf = (version: string) => versions.filter((each) => each === version).length;
  /** The version of most packages. */
  const version = versions.reduce((most, each) => (countOf(each) > countOf(most) ? each : most));
  const isOurs = (name: string) => all.some(({ manifest }) => manifest.name === name);

  it('are the same in all packages', () => {
    expect(version).toMatch(/^\d+\.\d+\.\d+(-beta\.\d+)?$/);
    expect(
      failing((manifest) => manifest.version === version, all),
      `have another version than ${version}`,
    ).toEqual([]);
  });

  it('of our packages in others are exactly this one, or begin with it for peers', () => {
    let seen = 0;
    const asking = [...all, ...programs.map(({ folder }) => ({ folder, manifest: read(folder) }))];
    const others = asking.flatMap(({ folder, manifest }) => {
      const { dependencies = {}, devDependencies = {}, peerDependencies = {} } = manifest;
      const exact = Object.entries({ ...dependencies, ...devDependencies }).filter(([name]) => isOurs(name));
      const peers = Object.entries(peerDependencies).filter(([name]) => isOurs(name));
      seen += exact.length + peers.length;
      return [
        ...exact.filter(([, range]) => range !== version),
        ...peers.filter(([, range]) => range !== `^${version}`),
      ].map(([name, range]) => `${folder}: ${name} ${range}`);
    });
    expect(others, `depend on another version than ${version}, or for peers ^${version}`).toEqual([]);
    expect(seen).toBeGreaterThan(80);
  });

  it('in package-lock.json are those of the packages', () => {
    const inLock = (folder: string) => lock[folder] ?? ({} as Partial<Published>);
    expect(
      failing((manifest, folder) => inLock(folder).version === manifest.version, all),
      'are not in package-lock.json as they are: run npm install',
    ).toEqual([]);
    for (const { folder, manifest } of all) {
      const what = `package-lock.json has other dependencies of ${folder}: run npm install`;
      expect(inLock(folder).dependencies, what).toEqual(manifest.dependencies);
      expect(inLock(folder).peerDependencies, what).toEqual(manifest.peerDependencies);
    }
  });

  it('each have an entry in CHANGELOG.md; a new package has a changeset', () => {
    const changesets = filesUnder('.changeset', ['.md']).map(readText);
    const isWaiting = ({ name }: Published) => changesets.some((text) => text.includes(`'${name}':`));
    const isThere = (folder: string) => existsSync(join(root, folder, 'CHANGELOG.md'));
    const isTold = (manifest: Published, folder: string) =>
      isThere(folder)
        ? readText(`${folder}/CHANGELOG.md`).includes(`\n## ${version}\n`)
        : isWaiting(manifest);
    expect(
      failing(isTold),
      `need '## ${version}' in CHANGELOG.md, or without one a file in .changeset`,
    ).toEqual([]);
  });

  it('of private packages are told by their hosts', () => {
    const changesets = filesUnder('.changeset', ['.md']).map(readText).join();
    const told = privatePackages.filter(
      ({ folder, manifest }) =>
        changesets.includes(`'${manifest.name}':`) || existsSync(join(root, folder, 'CHANGELOG.md')),
    );
    expect(told.map(({ folder }) => folder)).toEqual([]);
  });
});
