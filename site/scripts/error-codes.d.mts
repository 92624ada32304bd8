export declare const VARIABLES: readonly string[];
export declare function literalsInSources(): Map<string, Set<string>>;
export declare function codesInSources(): Map<string, Set<string>>;
export declare const ERRORS: string;
export declare function errorEntries(): { code: string; page: string; text: string }[];
