import type { Change } from '../server/answers.js';

/**
 * Follows changes while the page is visible. A browser has few connections to one server, so six hidden
 * pages would leave none for requests.
 */
export function followChanges(onChange: (change: Change) => void, onLost: () => void): void {
  let events: EventSource | undefined;
  const follow = () => {
    events?.close();
    events = document.hidden ? undefined : new EventSource('/api/events');
    if (!events) return;
    events.onmessage = ({ data }) => onChange(JSON.parse(data as string) as Change);
    events.onerror = onLost;
  };
  document.addEventListener('visibilitychange', follow);
  follow();
}
