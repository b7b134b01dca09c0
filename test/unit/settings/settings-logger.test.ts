/** An event is one line of the log, whatever text it contains. */

import { createLogger, type LoggerConfig } from '../../../src/server/observability/log/logger';

function linesOf(config: Pick<LoggerConfig, 'level' | 'format'>): string[] {
  const lines: string[] = [];
  const logger = createLogger({ ...config, destination: { write: (line) => lines.push(line) } });
  logger.info({ port: 8081 }, 'listening');
  logger.error({ err: new Error('broken') }, 'failed');
  return lines;
}

describe('The logger', () => {
  test('the logger writes JSON with the keys of the reference', () => {
    const [line = ''] = linesOf({ level: 'info', format: 'json' });
    expect(line.endsWith('\n')).toBe(true);
    expect(JSON.parse(line)).toEqual({
      '@timestamp': expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/) as string,
      '@message': 'listening',
      level: 'info',
      port: 8081,
    });
  });

  test('the logger writes text on one line, without colours and fields', () => {
    const [line] = linesOf({ level: 'info', format: 'text' });
    expect(line).toMatch(/^\[\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z\] INFO: listening\n$/);
  });

  test('the logger writes errors in both formats', () => {
    expect(linesOf({ level: 'error', format: 'text' }).join('')).toContain('broken');
    expect(JSON.parse(linesOf({ level: 'error', format: 'json' })[0]!)).toMatchObject({ err: { message: 'broken' } });
  });

  test.each(['text', 'json'] as const)('an event is one line of %s, with an error, line breaks and control characters', (format) => {
    const lines: string[] = [];
    const logger = createLogger({ level: 'info', format, destination: { write: (line) => lines.push(line) } });
    const hostile = 'first\nsecond\r\nERROR: forged\u001b[2J\u0007\u009b1m\b end';
    logger.error({ err: new TypeError(hostile) }, hostile);
    logger.info({}, hostile);
    expect(lines).toHaveLength(2);
    for (const line of lines) {
      expect(line.split(/[\r\n]/)).toEqual([expect.stringContaining('forged'), '']);
      if (format === 'text') expect(line).not.toMatch(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/);
    }
    if (format === 'text') expect(lines[0]).toMatch(/TypeError.* at /);
  });

  test('the logger omits lines below its level', () => {
    expect(linesOf({ level: 'error', format: 'json' })).toHaveLength(1);
  });
});
