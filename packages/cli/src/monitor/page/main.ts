import { MonitorPage } from './app.js';
import { startSession } from './client.js';

const page = new MonitorPage(document.querySelector('#app')!);
// A wrong token gives no session, and the page says so.
await startSession().catch(() => undefined);
await page.start();
