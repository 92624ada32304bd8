export { commHookOf } from '../comm-hooks/named.js';
