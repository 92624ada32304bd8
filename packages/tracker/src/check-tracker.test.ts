import { describe, expect, it } from 'vitest';
import { checkTracker } from './check-tracker.js';
import { Service, trackerOf } from './testing/service.js';

const coded = (code: string, message = '') =>
  expect.objectContaining({ code, message: expect.stringContaining(message) as string }) as Error;

describe('a tracker', () => {
  it('can be an object with the three members', () => {
    const tracker = trackerOf(new Service());
    expect(checkTracker('x', tracker)).toBe(tracker);
    class Own {
      name = 'own';
      writer = 1;
      start = () => Promise.resolve();
      log() {}
      finish() {
        return Promise.resolve();
      }
      flush() {}
    }
    expect(checkTracker('x', new Own()).name).toBe('own');
  });

  it.each([
    ['a function', () => undefined, 'Call it'],
    ['undefined', undefined, ''],
    ['nameless', { start() {}, log() {}, finish() {} }, 'name'],
    ['without finish', { name: 'x', start() {}, log() {} }, 'finish'],
  ])('cannot be %s', (_what, value, message) => {
    expect(() => checkTracker('x', value)).toThrow(coded('ACC_TRACKER_INVALID', message));
  });

  it('cannot have a mistyped member', () => {
    const typo = { ...trackerOf(new Service()), logImages() {} };
    expect(() => checkTracker('x', typo)).toThrow(coded('ACC_UNKNOWN_OPTION', "'logImage'"));
    class Own {
      name = 'own';
      start() {}
      log() {}
      finish() {}
      logHistograms() {}
    }
    expect(() => checkTracker('x', new Own())).toThrow(coded('ACC_TRACKER_INVALID', "'logHistogram'"));
  });
});
