import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { root } from './reading/repository.js';

const folder = join(root, '.github', 'workflows');
const workflows = readdirSync(folder).map(
  (name) => [name, readFileSync(join(folder, name), 'utf8')] as const,
);
const { scripts } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
  scripts: Record<string, string>;
};

/** The scripts of package.json that a text runs: `npm test`, `npm run name`. */
const scriptsIn = (text: string): string[] =>
  Array.from(text.matchAll(/\bnpm (?:run ([\w:-]+)|(test)\b)/g), ([, name, test]) => name ?? test!);

it('all workflows exist', () => {
  expect(workflows.map(([name]) => name).sort()).toEqual(['checks.yml', 'release.yml', 'site.yml']);
});

it.each(workflows)('%s runs scripts that package.json has', (name, text) => {
  const used = scriptsIn(text);
  expect(used).toContain(name === 'site.yml' ? 'site' : 'test');
  expect(used.filter((name) => !(name in scripts))).toEqual([]);
});

it.each(workflows)('%s uses actions by their major version', (_, text) => {
  const actions = Array.from(text.matchAll(/\buses: (\S+)/g), ([, action]) => action!);
  expect(actions.length).toBeGreaterThan(1);
  expect(actions.filter((action) => !/^[\w-]+\/[\w-]+@v\d+$/.test(action))).toEqual([]);
});

interface Step {
  readonly id?: string;
  readonly if?: string;
  readonly uses?: string;
  readonly run?: string;
  readonly with?: Readonly<Record<string, unknown>>;
  readonly env?: Readonly<Record<string, unknown>>;
}

describe('a release', () => {
  const text = workflows.find(([name]) => name === 'release.yml')![1];
  const { jobs } = parse(text) as {
    jobs: { release: { permissions: Record<string, string>; steps: readonly Step[] } };
  };
  const { permissions, steps } = jobs.release;
  const indexOf = (pattern: RegExp) => {
    const found = steps.flatMap(({ run = '', uses = '' }, i) => (pattern.test(`${run}${uses}`) ? [i] : []));
    expect(found, String(pattern)).toHaveLength(1);
    return found[0]!;
  };
  const stepWith = (pattern: RegExp) => steps[indexOf(pattern)]!;
  const publishes = /npm publish /;
  const changesets = /^changesets\/action@/;

  it('asks for changesets that wait, tests, lists the contents, and publishes, in this order', () => {
    const order = [
      /pending\.mjs/,
      /check-repository\.mjs/,
      /npm run setup/,
      /npm run test:release/,
      /npm run build:native-packages\nnpm run sbom -- --platforms \.native-packages/,
      publishes,
      changesets,
      /^actions\/upload-artifact@/,
      /gh release upload/,
    ].map(indexOf);
    expect(order).toEqual([...order].sort((a, b) => a - b));
    expect(stepWith(/npm run test:release/).run).toMatch(/npm test$/m);
    expect(stepWith(changesets).with).toEqual({
      version: 'npm run version-packages',
      publish: 'npm run release',
    });
  });

  it('does the work of publishing only if no changeset waits', () => {
    const first = indexOf(/pending\.mjs/);
    const noneWaits = "steps.changesets.outputs.pending == 'false'";
    const conditions = steps.slice(first + 1, indexOf(changesets) + 1).map((step) => step.if);
    expect(conditions).toEqual([noneWaits, undefined, noneWaits, noneWaits, noneWaits, undefined]);
    expect(steps[first]).toEqual({
      id: 'changesets',
      run: 'node scripts/release/pending.mjs >> "$GITHUB_OUTPUT"',
    });
  });

  it('proves its origin', () => {
    expect(permissions).toMatchObject({ 'id-token': 'write', contents: 'write' });
    for (const pattern of [publishes, changesets])
      expect(stepWith(pattern).env).toMatchObject({ NPM_CONFIG_PROVENANCE: true });
    const check = (repository: string) =>
      execFileSync(process.execPath, [join(root, 'scripts/release/check-repository.mjs')], {
        env: { ...process.env, GITHUB_SERVER_URL: 'https://github.com', GITHUB_REPOSITORY: repository },
        stdio: 'pipe',
      });
    const { repository } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
      repository: { url: string };
    };
    check(/github\.com\/(.*)\.git$/.exec(repository.url)![1]!);
    expect(() => check('someone/else')).toThrow(
      'npm pkg set repository.url=git+https://github.com/someone/else.git --workspaces --include-workspace-root',
    );
  });

  it('attaches the bill of materials to what it published', () => {
    for (const pattern of [/^actions\/upload-artifact@/, /gh release upload/]) {
      const step = stepWith(pattern);
      expect(step.if).toBe("steps.publish.outputs.published == 'true'");
      expect(JSON.stringify(step)).toContain('.sbom/sbom.cdx.json');
    }
    expect(stepWith(changesets).id).toBe('publish');
  });

  it('publishes a beta with its tag', () => {
    expect(stepWith(publishes)).toMatchObject({
      run: expect.stringContaining('npm publish ./.native-packages/linux-x64 --tag "$TAG"') as string,
      env: { TAG: '${{ steps.changesets.outputs.tag }}' },
    });
  });
});

describe('scripts/release/pending.mjs', () => {
  /** The output for a folder with these changesets and this state of pre mode. */
  const printed = (names: readonly string[], pre?: { mode: string; tag: string; changesets: string[] }) => {
    const folder = mkdtempSync(join(tmpdir(), 'acc-pending-'));
    mkdirSync(join(folder, '.changeset'));
    for (const name of ['README', ...names]) writeFileSync(join(folder, '.changeset', `${name}.md`), '');
    if (pre) writeFileSync(join(folder, '.changeset', 'pre.json'), JSON.stringify(pre));
    const script = join(root, 'scripts/release/pending.mjs');
    return execFileSync(process.execPath, [script], { cwd: folder, encoding: 'utf8' }).trim().split('\n');
  };
  const beta = { mode: 'pre', tag: 'beta', changesets: ['first', 'second'] };

  it.each([
    ['no changeset', [], undefined, ['pending=false', 'tag=latest']],
    ['a changeset', ['first'], undefined, ['pending=true', 'tag=latest']],
    ['changesets that a beta contains', ['first', 'second'], beta, ['pending=false', 'tag=beta']],
    ['one that no beta contains', ['first', 'second', 'third'], beta, ['pending=true', 'tag=beta']],
    ['the end of the betas', ['first'], { ...beta, mode: 'exit' }, ['pending=true', 'tag=latest']],
  ])('knows %s', (_, names, pre, expected) => {
    expect(printed(names, pre)).toEqual(expected);
  });
});

it('each Node.js that the site calls tested is in the workflow and in `npm run test:nodes`', () => {
  const page = readFileSync(join(root, 'site', 'docs', 'support.md'), 'utf8');
  const stated = Array.from(page.matchAll(/^\| (\d+)[^|]*\| yes +\| tests with ([\d.]*\d)/gm));
  const script = readFileSync(join(root, 'scripts', 'test-nodes.mjs'), 'utf8');
  const [, list] = /^export const VERSIONS = \[(.*)\];$/m.exec(script)!;
  const versions = Array.from(list!.matchAll(/[\d.]+/g), ([version]) => version);
  expect(stated.map(([, , version]) => version)).toEqual(versions);
  const checks = parse(workflows.find(([name]) => name === 'checks.yml')![1]) as {
    jobs: { test: { strategy: { matrix: { node: readonly (string | number)[] } } } };
  };
  const lines = checks.jobs.test.strategy.matrix.node.map((line) => String(line).split('.')[0]);
  expect(lines).toEqual(stated.map(([, line]) => line));
});
