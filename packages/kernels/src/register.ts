import { registerAccBackend } from './register-backend.js';

registerAccBackend();
