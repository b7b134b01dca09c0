/** Gives the engines the global Buffer that Node has. */

import { Buffer } from 'buffer';

Object.assign(globalThis, { Buffer });
