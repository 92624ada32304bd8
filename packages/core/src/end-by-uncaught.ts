import { endByUncaught } from '#platform/uncaught';

endByUncaught();
