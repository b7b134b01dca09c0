/** The formats of logs. */

export const LOG_FORMATS = ['csv', 'json', 'envoy', 'combined', 'decisions'] as const;

export type LogFormat = (typeof LOG_FORMATS)[number];
