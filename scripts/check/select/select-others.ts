// Tests for changed files that are no TypeScript sources: tests, programs, C++, documents, settings.
import { basename, dirname, extname } from 'node:path';
import type { ChangedFile } from './select-sources.js';

/** The tests that a changed file asks for. */
export interface Wanted {
  /** Tests that the change can break, the surest. */
  readonly tests?: readonly string[];
  /** Tests that it can break, too. */
  readonly others?: readonly string[];
  /** The package whose suite is run: `packages/native`. */
  readonly suite?: string;
  /** Every test. */
  readonly isEverything?: boolean;
}

export interface OtherContext {
  /** All test files. */
  readonly tests: readonly string[];
  /** The tests that load a program or a helper, or name it. */
  testsOf(path: string): readonly string[];
  /** The tests whose text contains one. */
  naming(text: string): readonly string[];
}

/** Files that every test depends on. */
const EVERYTHING =
  /^(package\.json|package-lock\.json|turbo\.json|tsup\.base\.ts|tsconfig\.base\.json|vitest\.config\.ts|tests\/[^/]+\.ts)$/;
/** Read by lint, types, prettier and the tests of tests/architecture alone. */
const CHECKED_ONLY =
  /^(\.changeset|\.github|tests\/executed|tests\/architecture|LICENSE|\.[a-z]+(rc\.json|ignore)|eslint\.config\.js|tsconfig\.json|tests\/tsconfig\.json)|\/tsconfig\.json$|^bench\/results\//;
const SITE_PAGES = 'tests/e2e/site/pages.test.ts';
const SITE_EXAMPLES = ['tests/e2e/site/examples.test.ts', 'tests/e2e/site/examples-apart.test.ts'];

/** Words in the names of C++ files, and the tests of what they do. */
const NATIVE_PARTS: readonly [files: RegExp, tests: RegExp][] = [
  [
    /shm|gloo|group|store|socket|watch|meeting|nccl|mpi|rank_names|distributed/,
    /collective|shm|fault|deadlock|message|failure|subgroup|conformance|hosts\/|ended|join/,
  ],
  [/record|replay|plan|operator/, /record|replay|compile|operator|fused-programs/],
  [/fused/, /fused/],
  [/attention/, /attention|transformer|context/],
  [/recurrent/, /recurrent|rnn|layers-parity/],
  [/product|matrix|row_math/, /matmul|product|fused/],
  [/winograd|convolution|max_pool|norm/, /conv|winograd|pool|norm|layers-parity/],
  [/adam/, /adam|optimizer/],
  [/tensor_file|owned_files|mapped|checksum/, /file|checksum|mapped|checkpoint|offload/],
  [/arena|alloc|heap|memory|pages/, /memory|leak|alloc/],
];

/** The changed files that are no sources. */
export type OtherFile = Pick<ChangedFile, 'path'> & Partial<ChangedFile>;

export function wantedBy(file: OtherFile, context: OtherContext): Wanted {
  const { path } = file;
  if (context.tests.includes(path)) return { tests: [path] };
  // A deleted test breaks no other.
  if (/\.test\.m?[jt]s$/.test(path)) return {};
  if (path === 'package.json' && differsInScripts(file)) return { tests: context.naming('npm run') };
  if (EVERYTHING.test(path)) return { isEverything: true };
  if (CHECKED_ONLY.test(path)) return {};
  if (extname(path) === '.md') return wantedByDocument(path, context);
  if (path.startsWith('packages/')) return wantedInPackage(path, context);
  if (path.startsWith('site/')) return { tests: [...context.testsOf(path), SITE_PAGES] };
  if (/^scripts\/(\w[\w-]*)\//.test(path)) {
    const folder = path.split('/', 2).join('/');
    return {
      tests: context.tests.filter((test) => test.startsWith(`${folder}/`)),
      others: context.naming(path),
    };
  }
  if (path.startsWith('scripts/')) return { tests: context.naming(basename(path)) };
  const known = [...new Set([...context.testsOf(path), ...context.naming(basename(path))])];
  return known.length > 0 ? { tests: known } : { tests: testsNear(path, context.tests) };
}

/** Whether only commands of the repository changed. */
function differsInScripts({ before, now }: OtherFile): boolean {
  if (before === undefined || now === undefined) return false;
  const withoutScripts = (text: string): string =>
    JSON.stringify({ ...(JSON.parse(text) as object), scripts: undefined });
  return withoutScripts(before) === withoutScripts(now);
}

/** A page of the site; its examples are compiled and run. */
function wantedByDocument(path: string, context: OtherContext): Wanted {
  const others = path.startsWith('site/docs/') ? [SITE_PAGES, ...SITE_EXAMPLES] : [SITE_PAGES];
  return { tests: context.naming(path.startsWith('packages/') ? path : basename(path)), others };
}

function wantedInPackage(path: string, { tests, testsOf }: OtherContext): Wanted {
  const suite = path.split('/', 2).join('/');
  if (!path.startsWith('packages/native/cpp/')) return { tests: testsOf(path), suite };
  const name = path.slice('packages/native/cpp/'.length);
  const words = basename(name, extname(name))
    .split('_')
    .filter((word) => word.length > 3);
  const parts = NATIVE_PARTS.filter(([files]) => files.test(name)).map(([, of]) => of);
  const isNear = (test: string): boolean =>
    words.some((word) => basename(test).includes(word)) || parts.some((part) => part.test(test));
  const near = tests.filter(isNear);
  const own = near.filter((test) => test.startsWith(suite) || test.startsWith('packages/collective/'));
  return { tests: own, others: near, suite };
}

/** The tests of the nearest folder above that has some. */
function testsNear(path: string, tests: readonly string[]): string[] {
  for (let folder = dirname(path); folder.includes('/'); folder = dirname(folder)) {
    const found = tests.filter((test) => test.startsWith(`${folder}/`));
    if (found.length > 0) return found;
  }
  return [];
}
