import { describe, expect, it } from 'vitest';
import { HOSTS } from '../../scripts/release/hosts.mjs';
import { packedManifest, withInstalledNames } from '../../scripts/release/packed-manifest.mjs';
import { packedManifestOf, publishedFolders } from '../../scripts/release/published.mjs';
import { packages, privatePackages, publishedPackages, readText } from './reading/repository.js';

const nameIn = ({ folder }: { folder: string }) => folder.replace('packages/', '');
const tarballs = publishedFolders.map((folder) => packedManifestOf(folder));
/** The packages that npm installs with a tarball. */
const askedBy = ({ dependencies, peerDependencies }: (typeof tarballs)[number]) =>
  Object.keys({ ...dependencies, ...peerDependencies });

describe('the table of hosts', () => {
  it('has exactly the private packages, and published packages as hosts', () => {
    expect(Object.keys(HOSTS).sort()).toEqual(privatePackages.map(nameIn));
    expect(publishedFolders).toEqual(publishedPackages.map(nameIn));
    for (const host of Object.values(HOSTS)) expect(publishedFolders).toContain(host);
  });

  it('leaves no circle of published packages', () => {
    const waiting = new Map(tarballs.map((manifest) => [manifest.name, askedBy(manifest)]));
    const isReady = (names: readonly string[]) => !names.some((name) => waiting.has(name));
    for (;;) {
      const ready = [...waiting].filter(([, names]) => isReady(names)).map(([name]) => name);
      if (ready.length === 0) break;
      for (const name of ready) waiting.delete(name);
    }
    expect([...waiting.keys()]).toEqual([]);
  });

  it('is told in the README of each private package, and of each host', () => {
    for (const [folder, host] of Object.entries(HOSTS)) {
      const note = `> A private package, which the published [\`@acc/${host}\`](../${host}/README.md) contains.`;
      expect(readText(`packages/${folder}/README.md`).replace(/\n> /g, ' ')).toContain(note.slice(2));
      const [, section = ''] = readText(`packages/${host}/README.md`).split('\n## Internal entry points\n');
      expect(section, host).toContain(`[${folder}](../${folder}/README.md)`);
      expect(section, host).toContain(`@acc/${host}/internal/`);
    }
  });
});

describe('tarballs', () => {
  it('ask for no private package, and have an entry point for each that they contain', () => {
    const names = packages.map(({ manifest }) => manifest.name);
    const published: string[] = tarballs.map(({ name }) => name);
    for (const manifest of tarballs) {
      const ours = askedBy(manifest).filter((name) => names.includes(name));
      expect(ours.filter((name) => !published.includes(name) || name === manifest.name)).toEqual([]);
    }
    const entries = tarballs.flatMap(({ exports }) => Object.keys(exports));
    for (const folder of Object.keys(HOSTS)) {
      expect(entries.filter((path) => path === `./internal/${folder}`)).toHaveLength(1);
    }
  });

  it('have what private packages need, and are optional for those that every part can do without', () => {
    const of = (more: object) => ({ name: '@acc/kernels', files: ['dist'], exports: {}, ...more });
    const tape = {
      exports: { '.': { '@acc/source': './src/index.ts', default: './dist/index.js' } },
      sideEffects: ['./dist/acting.js'],
      dependencies: { '@acc/kernels': '1.0.0', '@acc/platform': '1.0.0', zod: '4' },
      peerDependencies: { both: '1', one: '1', zod: '4' },
      peerDependenciesMeta: { both: { optional: true }, one: { optional: true } },
      imports: { '#platform/*': { '@acc/source': './src/*.ts', default: './dist/platform/*.js' } },
    };
    const peers = { peerDependencies: { both: '1' }, peerDependenciesMeta: { both: { optional: true } } };
    const packed = packedManifest(of({ sideEffects: false, publishConfig: {}, ...peers }), { tape });
    expect(packed).toEqual({
      name: '@acc/kernels',
      files: ['dist', 'internal'],
      exports: { './internal/tape': { default: './internal/tape/dist/index.js' } },
      imports: { '#internal/tape/platform/*': { default: './internal/tape/dist/platform/*.js' } },
      sideEffects: ['./internal/tape/dist/acting.js'],
      dependencies: { '@acc/contract': '1.0.0', zod: '4' },
      peerDependencies: { both: '1', one: '1' },
      peerDependenciesMeta: { both: { optional: true }, one: { optional: true } },
    });
  });

  it('name packages as they are installed', () => {
    const text = `import '@acc/platform/s3'; import("@acc/tape"); from '#platform/files'; '@acc/tracker-wandb'; '@acc/core'`;
    expect(withInstalledNames(text)).toBe(
      `import '@acc/contract/internal/platform/s3'; import("@acc/kernels/internal/tape"); from '#platform/files'; '@acc/tracker-wandb'; '@acc/core'`,
    );
    expect(withInstalledNames(text, 'tape')).toContain(`from '#internal/tape/platform/files'`);
  });
});
