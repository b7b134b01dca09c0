/** The console reads and writes a descriptor as the command line and top keys do. */

import fc from 'fast-check';
import { readDescriptors } from '../../../src/program/cli/read-descriptor';
import { DescriptorTextError, isCut, readDescriptor, writeDescriptor } from '../../../src/administration/console/api/descriptor-text';
import { toByteString } from '../../../src/domain/descriptor/byte-string';
import { KeyForm } from '../../../src/state/top/key-text';
import { anyText } from '../../support/random/any-text';

const entry = fc.record({
  key: anyText({ minLength: 1, maxLength: 12 }).map((key) => key.trim() + 'k'),
  value: anyText({ maxLength: 24 }),
});

test('a written descriptor reads as itself', () => {
  fc.assert(
    fc.property(fc.array(entry, { minLength: 1, maxLength: 4 }), (entries) => {
      expect(readDescriptor(writeDescriptor(entries))).toEqual(entries);
    }),
  );
});

test('the command line reads the same, without unprintable characters', () => {
  const printable = fc.record({
    key: fc.string({ minLength: 1, maxLength: 12 }).map((key) => key.trim() + 'k'),
    value: fc.string({ maxLength: 24 }),
  });
  fc.assert(
    fc.property(fc.array(printable, { minLength: 1, maxLength: 4 }), (entries) => {
      const [read] = readDescriptors('--descriptor', [writeDescriptor(entries)]);
      expect(read).toEqual(entries);
    }),
  );
});

test('the console writes a key as top keys do, so that it finds its denials', () => {
  fc.assert(
    fc.property(anyText({ maxLength: 40 }), (value) => {
      const entries = [{ key: toByteString('merchant'), value: toByteString(value) }];
      const form = new KeyForm({ path: ['merchant'], entries });
      expect(form.textOf(form.keyOf(entries))).toBe(writeDescriptor([{ key: 'merchant', value }]));
    }),
  );
});

test.each([
  ['', 'the descriptor is empty'],
  ['=x', 'has no key'],
  ['merchant', 'has no value'],
])('"%s" is refused', (text, message) => {
  expect(() => readDescriptor(text)).toThrow(DescriptorTextError);
  expect(() => readDescriptor(text)).toThrow(message);
});

test('a text that was cut names no descriptor', () => {
  expect(isCut(`merchant=${'x'.repeat(200)}~0123456789abcdef`)).toBe(true);
  expect(isCut('merchant=~x')).toBe(false);
});
