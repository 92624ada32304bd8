// What package.json of a published package says in its tarball, where it contains private packages,
// and how built files name these there.
import { HOSTS, installedName } from './hosts.mjs';

/** The condition by which the repository resolves our packages to their sources. */
const SOURCE = '@acc/source';
/** Scripts that make sense in the repository only. */
const OWN_SCRIPTS = ['build', 'prepack'];

/**
 * @param {object} manifest package.json of a published package.
 * @param {Record<string, object>} hosted package.json of the private packages that its tarball contains, by folder.
 * @returns {object} package.json of the tarball.
 */
export function packedManifest(manifest, hosted) {
  const all = [manifest, ...Object.values(hosted)];
  const dependencies = dependenciesOf(all, manifest);
  const peers = peersOf(all, dependencies);
  return withoutEmpty({
    ...manifest,
    sideEffects: sideEffectsOf(manifest, hosted),
    exports: { ...exportsOf(manifest), ...internalExports(hosted) },
    imports: { ...withoutSources(manifest.imports ?? {}), ...internalImports(hosted) },
    files: [...manifest.files, ...(all.length > 1 ? ['internal'] : [])],
    scripts: without(manifest.scripts ?? {}, OWN_SCRIPTS),
    dependencies,
    ...peers,
    publishConfig: without(manifest.publishConfig ?? {}, ['directory']),
  });
}

/**
 * A built file with the names that packages have after the installation: `@acc/platform/s3` →
 * `@acc/contract/internal/platform/s3`.
 *
 * @param {string} [hosted] The folder of the private package that the file belongs to.
 */
export function withInstalledNames(text, hosted) {
  const named = text.replace(SPECIFIER, (_, quote, folder, path) => {
    return `${quote}@acc/${HOSTS[folder]}/internal/${folder}${path}${quote}`;
  });
  return hosted === undefined ? named : named.replace(/(['"`])#(?=platform\/)/g, `$1#internal/${hosted}/`);
}

const SPECIFIER = new RegExp(`(['"\`])@acc/(${Object.keys(HOSTS).join('|')})((?:/[\\w./-]+)?)\\1`, 'g');

/** Our packages in the ranges that a manifest asks for, by their names after the installation. */
function installed(ranges = {}) {
  return Object.entries(ranges).map(([name, range]) => [installedName(name), range]);
}

function dependenciesOf(all, { name: own }) {
  const entries = all.flatMap(({ dependencies }) => installed(dependencies));
  const differing = entries.find(([name, range]) =>
    entries.some(([other, its]) => other === name && its !== range),
  );
  if (differing)
    throw new Error(`The packages in the tarball of ${own} ask for different ranges of ${differing[0]}.`);
  return sorted(entries.filter(([name]) => name !== own));
}

/** A package that is a dependency of the tarball is not its peer, and a peer is optional if it is for all. */
function peersOf(all, dependencies) {
  const entries = all.flatMap(({ peerDependencies }) => installed(peerDependencies));
  const peerDependencies = sorted(entries.filter(([name]) => !(name in dependencies)));
  const isOptional = (name) =>
    all.every(
      ({ peerDependencies: peers = {}, peerDependenciesMeta: meta = {} }) =>
        !(name in peers) || meta[name]?.optional === true,
    );
  const optional = Object.keys(peerDependencies).filter(isOptional);
  const peerDependenciesMeta = Object.fromEntries(optional.map((name) => [name, { optional: true }]));
  return { peerDependencies, peerDependenciesMeta };
}

function exportsOf({ exports }) {
  return Object.fromEntries(Object.entries(exports).map(([path, target]) => [path, withoutSources(target)]));
}

/** `./s3` of the package `platform` is `./internal/platform/s3`. */
function internalExports(hosted) {
  const entries = Object.entries(hosted).flatMap(([folder, manifest]) =>
    Object.entries(exportsOf(manifest))
      .filter(([path]) => path !== './package.json')
      .map(([path, target]) => [`./internal/${folder}${path.slice(1)}`, within(folder, target)]),
  );
  return Object.fromEntries(entries);
}

function internalImports(hosted) {
  const entries = Object.entries(hosted).flatMap(([folder, { imports = {} }]) =>
    Object.entries(withoutSources(imports)).map(([name, target]) => [
      `#internal/${folder}/${name.slice(1)}`,
      within(folder, target),
    ]),
  );
  return Object.fromEntries(entries);
}

/** The paths of a target, where the tarball has the files of a private package. */
function within(folder, target) {
  if (typeof target === 'string') return target.replace(/^\.\//, `./internal/${folder}/`);
  return Object.fromEntries(Object.entries(target).map(([key, value]) => [key, within(folder, value)]));
}

/** Conditions without the one for sources: nothing in a tarball imports sources. */
function withoutSources(target) {
  if (typeof target === 'string') return target;
  const entries = Object.entries(target).filter(([key]) => key !== SOURCE);
  return Object.fromEntries(entries.map(([key, value]) => [key, withoutSources(value)]));
}

function sideEffectsOf({ sideEffects }, hosted) {
  const paths = [
    ...(sideEffects || []),
    ...Object.entries(hosted).flatMap(([folder, { sideEffects: theirs }]) =>
      (theirs || []).map((path) => within(folder, path)),
    ),
  ];
  return paths.length > 0 && paths;
}

const without = (object, keys) =>
  Object.fromEntries(Object.entries(object).filter(([key]) => !keys.includes(key)));

/** Fields that were empty in the source are absent in the tarball. */
const withoutEmpty = (manifest) =>
  Object.fromEntries(
    Object.entries(manifest).filter(
      ([, value]) => typeof value !== 'object' || Object.keys(value).length > 0,
    ),
  );

const sorted = (entries) =>
  Object.fromEntries(entries.toSorted(([left], [right]) => (left < right ? -1 : left > right ? 1 : 0)));
