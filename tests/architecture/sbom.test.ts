import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { packages, readText, root } from './reading/repository.js';

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
  readonly version?: string;
  readonly link?: boolean;
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
  readonly peerDependencies?: Readonly<Record<string, string>>;
  readonly peerDependenciesMeta?: Readonly<Record<string, { readonly optional?: boolean }>>;
}

const lock = (JSON.parse(readText('package-lock.json')) as { packages: Record<string, Locked> }).packages;
/** A platform package, as `npm run build:native-packages` writes them. */
const PLATFORM = { name: '@acc/native-some-cpu', version: '1.2.3' };
const ours = [
  ...packages.map(({ folder, manifest }) => `${manifest.name}@${lock[folder]!.version}`),
  `${PLATFORM.name}@${PLATFORM.version}`,
];
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
}, 60_000);

const nameAt = (path: string) => path.split('node_modules/').at(-1)!;

/** The path in package-lock.json of a package that the one at `from` asks for: the nearest one above it. */
function resolved(from: string, name: string): string | undefined {
  const inside = from.split(/(?:^|\/)node_modules\//);
  const above = inside.map((_, i) => inside.slice(0, inside.length - i).join('/node_modules/'));
  const paths = [...above, ''].map((folder) => `${folder}/node_modules/${name}`.replace(/^\//, ''));
  return paths.find((path) => path in lock);
}

/** The names that npm installs with a package. */
function askedBy({
  dependencies,
  optionalDependencies,
  peerDependencies = {},
  peerDependenciesMeta = {},
}: Locked) {
  const peers = Object.keys(peerDependencies).filter((name) => !peerDependenciesMeta[name]?.optional);
  return [...Object.keys({ ...dependencies, ...optionalDependencies }), ...peers];
}

/** `name@version` of everything that npm installs with our packages, as package-lock.json has it. */
function installedInLock(): string[] {
  const found = new Set<string>();
  const add = (path: string): void => {
    if (found.has(path)) return;
    found.add(path);
    for (const name of askedBy(lock[path]!)) {
      const target = resolved(path, name);
      if (target === undefined) throw new Error(`${path} asks for ${name}, which package-lock.json lacks.`);
      if (!lock[target]!.link) add(target);
    }
  };
  for (const { folder } of packages) add(folder);
  const others = [...found].filter((path) => path.includes('node_modules/'));
  return [...new Set([...ours, ...others.map((path) => `${nameAt(path)}@${lock[path]!.version}`)])].sort();
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

  it('lists what package-lock.json installs with our packages, and nothing that only development needs', () => {
    const listed = bom.components.map(({ name, version }) => `${name}@${version}`);
    const expected = installedInLock();
    expect([...listed].sort()).toEqual(expected);
    expect(listed.filter((name) => /^(vitest|typescript|turbo|sharp)@/.test(name))).toEqual([]);
    for (const name of ['zod', 'esbuild', 'yauzl', '@tensorflow/tfjs-core'])
      expect(bom.components.map((component) => component.name)).toContain(name);
  });

  it('says which component needs which', () => {
    const refs = new Set(
      [bom.metadata.component, ...bom.components].map((component) => component['bom-ref']),
    );
    expect(new Set(bom.dependencies.map(({ ref }) => ref))).toEqual(refs);
    expect(bom.dependencies.flatMap(({ dependsOn }) => dependsOn).filter((ref) => !refs.has(ref))).toEqual(
      [],
    );
    const { dependsOn } = bom.dependencies.find(({ ref }) => ref === bom.metadata.component['bom-ref'])!;
    expect([...dependsOn].sort()).toEqual([...ours].sort());
  });
});
