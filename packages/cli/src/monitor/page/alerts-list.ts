import type { RunDetails } from '../server/answers.js';
import { h } from './dom.js';

/** The alerts of `autoLog`, the newest one first. */
export function alertsList({ alerts, hasAlertFile }: RunDetails): HTMLElement {
  if (alerts.length > 0) {
    const items = alerts
      .toReversed()
      .map(({ kind, step, text }) =>
        h(
          'li',
          {},
          h('span', { class: 'pill' }, kind),
          h('span', { class: 'small' }, `step ${step}`),
          h('span', {}, text),
        ),
      );
    return h('ul', { class: 'alerts' }, ...items);
  }
  if (hasAlertFile) return h('p', {}, 'There were no alerts.');
  return h(
    'p',
    {},
    'The run keeps no alerts in its folder. They are here if it logs with ',
    h('code', {}, "logWith: ['jsonl']"),
    '.',
  );
}
