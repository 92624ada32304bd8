import { noteShuffles } from '#platform/shuffles';

noteShuffles();
