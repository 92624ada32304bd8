import { spawnSync } from 'node:child_process';
import { describe, expect, it } from 'vitest';

/** The settings that libgomp reports when a process loads the addon, and those that its children inherit. */
function settings(env: NodeJS.ProcessEnv): string {
  const entry = new URL('../../dist/index.js', import.meta.url).href;
  const program = `import { numThreads } from '${entry}'; numThreads(); console.log('inherited', process.env.GOMP_SPINCOUNT);`;
  const { stdout, stderr } = spawnSync(process.execPath, ['--input-type=module', '--eval', program], {
    encoding: 'utf8',
    env: { ...process.env, OMP_WAIT_POLICY: undefined, OMP_DISPLAY_ENV: 'verbose', ...env },
  });
  return stdout + stderr;
}

// Only libgomp has the setting.
describe.runIf(process.platform === 'linux')('idle threads of libgomp', () => {
  it('poll a short time', () => {
    const text = settings({});
    expect(text).toMatch(/GOMP_SPINCOUNT = '3000'/);
    expect(text).toMatch(/inherited undefined/);
  });

  it('poll as long as the user says', () => {
    expect(settings({ GOMP_SPINCOUNT: '7' })).toMatch(/GOMP_SPINCOUNT = '7'/);
    expect(settings({ OMP_WAIT_POLICY: 'active' })).not.toMatch(/GOMP_SPINCOUNT = '3000'/);
  });
});
