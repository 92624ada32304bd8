import { describe, expect, it } from 'vitest';
import {
  filesUnder,
  privatePackages,
  publishedPackages,
  readText,
  type Workspace,
} from './reading/repository.js';
import { HOSTS } from '../../scripts/release/hosts.mjs';
import { LAYERS } from './rules/layers.js';

const text = readText('ARCHITECTURE.md');

describe('ARCHITECTURE.md', () => {
  it('has every package in its map, at its layer', () => {
    const rows = [...text.matchAll(/^\| (\d) +\| `([\w…-]+)`/gm)];
    const layers = Object.entries(LAYERS).map(([name, layer]) => [mapName(name), layer]);
    expect(Object.fromEntries(rows.map(([, layer, name]) => [name, Number(layer)]))).toEqual(
      Object.fromEntries(layers),
    );
  });

  it('names the documents of all packages that have one', () => {
    const documents = filesUnder('packages', ['.md']).filter((path) => path.endsWith('/DESIGN.md'));
    const named = [...text.matchAll(/\]\((packages\/[\w-]+\/DESIGN\.md)\)/g)].map(([, path]) => path);
    expect(named.toSorted()).toEqual(documents.toSorted());
  });

  it('has at most 20 KB, and leaves the rest to these documents', () => {
    expect(Buffer.byteLength(text)).toBeLessThanOrEqual(20_000);
  });
});

/** The trackers for services share a row. */
function mapName(packageName: string): string {
  return packageName.replace(/^@acc\/tracker-.*|^acc-tracker-.*/, 'tracker-…').replace('@acc/', '');
}

it('docs/packages.md has every package with its description, and private ones with their hosts', () => {
  const [, published, inside] = readText('docs/packages.md')
    .replace(/\n {2}/g, ' ')
    .split(/^## .*$/m);
  const itemsOf = (text = '') => text.split('\n').filter((line) => line.startsWith('- '));
  expect(itemsOf(published)).toEqual(publishedPackages.map((one) => `${linkOf(one)}: ${descriptionOf(one)}`));
  const hostOf = ({ folder }: Workspace) => `@acc/${HOSTS[folder.replace('packages/', '')]}`;
  expect(itemsOf(inside)).toEqual(
    privatePackages.map((one) => `${linkOf(one)}, in \`${hostOf(one)}\`: ${descriptionOf(one)}`),
  );
});

const linkOf = ({ folder, manifest }: Workspace) => `- [${manifest.name}](../${folder}/README.md)`;
const descriptionOf = ({ folder }: Workspace) =>
  (JSON.parse(readText(`${folder}/package.json`)) as { description: string }).description;

it('README.md has at most 9 KB', () => {
  expect(Buffer.byteLength(readText('README.md'))).toBeLessThanOrEqual(9_000);
});
