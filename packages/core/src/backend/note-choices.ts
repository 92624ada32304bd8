import { noteChoices } from './chosen-backend.js';

noteChoices();
