import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { publishedFolders, packedManifestOf } from '../../scripts/release/published.mjs';
import { publishedPackages as packages, readText, root } from './reading/repository.js';

interface Component {
  readonly 'bom-ref': string;
  readonly type: string;
  readonly name: string;
  readonly version: string;
  readonly purl: string;
  readonly licenses?: readonly {
    readonly license?: { readonly id?: string; readonly name?: string };
    readonly expression?: string;
  }[];
}

interface Bom {
  readonly bomFormat: string;
  readonly specVersion: string;
  readonly serialNumber: string;
  readonly version: number;
  readonly metadata: { readonly timestamp: string; readonly component: Component };
  readonly components: readonly Component[];
  readonly dependencies: readonly { readonly ref: string; readonly dependsOn: readonly string[] }[];
}

/** An entry of package-lock.json. */
interface Locked {
  readonly name?: string;
  readonly version?: string;
  readonly link?: boolean;
  /** Whether only development needs it. */
  readonly dev?: boolean;
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
  readonly peerDependencies?: Readonly<Record<string, string>>;
  readonly peerDependenciesMeta?: Readonly<Record<string, { readonly optional?: boolean }>>;
}

const lock = (JSON.parse(readText('package-lock.json')) as { packages: Record<string, Locked> }).packages;
/** A platform package, as `npm run build:native-packages` writes them. */
const PLATFORM = { name: '@acc/native-some-cpu', version: '1.2.3' };
const platform = `${PLATFORM.name}@${PLATFORM.version}`;
const ours = packages.map(({ folder, manifest }) => `${manifest.name}@${lock[folder]!.version}`);
/** The manifests of the tarballs, which contain the private packages. */
const packed = new Map<string, Locked>(
  publishedFolders.map((folder) => {
    const manifest = packedManifestOf(folder);
    return [`${manifest.name}@${manifest.version}`, manifest];
  }),
);
let bom: Bom;

beforeAll(() => {
  const folder = mkdtempSync(join(tmpdir(), 'acc-sbom-test-'));
  const out = join(folder, 'sbom.json');
  const platforms = join(folder, 'platforms');
  mkdirSync(join(platforms, 'some-cpu'), { recursive: true });
  const manifest = { ...PLATFORM, license: 'Apache-2.0', os: ['some'], cpu: ['cpu'] };
  writeFileSync(join(platforms, 'some-cpu', 'package.json'), JSON.stringify(manifest));
  const args = ['--out', out, '--platforms', platforms];
  execFileSync(process.execPath, [join(root, 'scripts', 'release', 'sbom.mjs'), ...args], { stdio: 'pipe' });
  bom = JSON.parse(readFileSync(out, 'utf8')) as Bom;
});

/** The names that npm installs with a package. */
function askedBy({
  dependencies,
  optionalDependencies,
  peerDependencies = {},
  peerDependenciesMeta = {},
}: Locked) {
  const peers = Object.keys(peerDependencies).filter((name) => !peerDependenciesMeta[name]?.optional);
  return [...new Set([...Object.keys({ ...dependencies, ...optionalDependencies }), ...peers])];
}

/** `@acc/core@1.0.0` → `@acc/core`. */
const nameIn = (id: string) => id.replace(/@[^@]*$/, '');

/** The entries of package-lock.json by `name@version`. A package may lie in several places. */
const entries = new Map<string, Locked[]>();
for (const [path, entry] of Object.entries(lock)) {
  const name = entry.name ?? path.split(/node_modules\/|^packages\//).at(-1)!;
  const id = `${name}@${entry.version}`;
  if (!entry.link) entries.set(id, [...(entries.get(id) ?? []), entry]);
}

describe('the bill of materials', () => {
  it('is CycloneDX', () => {
    expect(bom).toMatchObject({
      bomFormat: 'CycloneDX',
      version: 1,
      metadata: { component: { type: 'library' } },
    });
    expect(bom.specVersion).toMatch(/^1\.[5-9]$/);
    expect(bom.serialNumber).toMatch(/^urn:uuid:[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/);
    expect(Number.isNaN(Date.parse(bom.metadata.timestamp))).toBe(false);
  });

  it('has name, version, package URL and license of each component', () => {
    expect(bom.components.length).toBeGreaterThan(packages.length);
    for (const component of [bom.metadata.component, ...bom.components]) {
      const { name, version, licenses = [] } = component;
      expect(version, name).toMatch(/^\d+\.\d+\.\d+/);
      expect(component, name).toMatchObject({
        'bom-ref': `${name}@${version}`,
        type: 'library',
        purl: `pkg:npm/${name.replace('@', '%40')}@${version}`,
      });
      const texts = licenses.map(({ license, expression }) => license?.id ?? license?.name ?? expression);
      expect(texts, name).toEqual([expect.stringMatching(/^[\w.() -]+$/)]);
    }
  });

  it('lists our packages, and for each component exactly what npm installs with it', () => {
    const dependsOn = new Map(bom.dependencies.map(({ ref, dependsOn }) => [ref, dependsOn]));
    const own = bom.metadata.component['bom-ref'];
    expect([...dependsOn.get(own)!].sort()).toEqual([...ours, platform].sort());
    const reached = new Set<string>();
    /** Follows what npm installs, but not optional peers: these are there only if something else needs them. */
    const reach = (ref: string): void => {
      if (reached.has(ref)) return;
      reached.add(ref);
      const asked = askedBy(packed.get(ref) ?? entries.get(ref)![0]!);
      const targets = dependsOn.get(ref)!.filter((id) => asked.includes(nameIn(id)));
      expect(targets.map(nameIn).sort(), ref).toEqual([...asked].sort());
      targets.forEach(reach);
    };
    ours.forEach(reach);
    const listed = bom.components.map((component) => component['bom-ref']);
    expect([...reached, platform].sort()).toEqual([...listed].sort());
    for (const name of ['zod', 'esbuild', 'yauzl', 'brace-expansion', '@tensorflow/tfjs-core'])
      expect(bom.components.map((component) => component.name)).toContain(name);
  });

  it('lists nothing that only development needs', () => {
    const ids = bom.components.map(({ name, version }) => `${name}@${version}`);
    const forDevelopment = [...entries].filter(([, places]) => places.every(({ dev }) => dev));
    expect(forDevelopment.length).toBeGreaterThan(100);
    expect(forDevelopment.map(([id]) => id).filter((id) => ids.includes(id))).toEqual([]);
  });
});
