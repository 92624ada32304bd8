import { MonitorPage } from './app.js';
import { startSession } from './client.js';

// An address with another token differs only in its fragment, so the browser loads nothing.
addEventListener('hashchange', () => location.reload());
const page = new MonitorPage(document.querySelector('#app')!);
// A wrong token gives no session, and the page says so.
await startSession().catch(() => undefined);
await page.start();
