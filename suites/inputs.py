"""Generates substitutes for unavailable inputs, with the format and size of upstream's files but not their contents.

    python3 inputs.py [--check] GENERATOR seed=1 PARAMETER=NUMBER... > FILE

The same generator, seed and parameters yield the same bytes on every machine. `--check` only checks the parameters.
docs/manifest.md lists the generators.
"""

import struct
import sys
from array import array
from itertools import chain, islice, product
from math import isqrt

COUNT = range(1, (1 << 24) + 1)
EXTENT = range(1, (1 << 32) + 1)
MILLION = 1_000_000


class Refused(Exception):
    """Raised for parameters that a generator does not accept."""


class Random:
    """32-bit words from ChaCha with 8 rounds, keyed with the seed (little-endian, padded with zeroes)."""

    BLOCKS = 256  # computed together: big integers with 64 bits per block take the place of vector registers

    def __init__(self, seed):
        self.words = chain.from_iterable(self._blocks(seed))
        self._next = self.words.__next__

    def below(self, bound):
        return self._next() * bound >> 32

    def _blocks(self, seed):
        every = sum(1 << 64 * block for block in range(self.BLOCKS))
        count = sum(block << 64 * block for block in range(self.BLOCKS))
        mask = every * 0xFFFFFFFF
        key = [seed & 0xFFFFFFFF, seed >> 32, 0, 0, 0, 0, 0, 0]
        constants = struct.unpack("<4I", b"expand 32-byte k")

        def quarter(s, a, b, c, d):
            for left, right in ((16, 12), (8, 7)):
                s[a] = s[a] + s[b] & mask
                s[d] ^= s[a]
                s[d] = (s[d] << left | s[d] >> 32 - left) & mask
                s[c] = s[c] + s[d] & mask
                s[b] ^= s[c]
                s[b] = (s[b] << right | s[b] >> 32 - right) & mask

        for first in range(0, 1 << 32, self.BLOCKS):
            start = [every * word for word in (*constants, *key)] + [every * first + count, 0, 0, 0]
            state = start[:]
            for _ in range(4):
                for i in range(4):
                    quarter(state, i, 4 + i, 8 + i, 12 + i)
                for i in range(4):
                    quarter(state, i, 4 + (i + 1) % 4, 8 + (i + 2) % 4, 12 + (i + 3) % 4)
            lanes = ((a + b & mask).to_bytes(8 * self.BLOCKS, "little") for a, b in zip(state, start))
            yield from zip(*(memoryview(lane).cast("Q") for lane in lanes))


def decimal(millionths):
    return "%d.%06d" % divmod(millionths, MILLION)


def lines(texts):
    """Yields the texts, one per line, in pieces of a few megabytes."""
    texts = iter(texts)
    while piece := list(islice(texts, 1 << 18)):
        yield ("\n".join(piece) + "\n").encode()


def bfs_graph(random, nodes: COUNT, degree: range(2, 65, 2)):
    """Writes the number of nodes; for each node the index of its first edge, and its number of edges; the source node; the
    number of edges; for each edge its target and weight (1 to 10).

    Each node draws `degree / 2 - 1` to `degree / 2 + 1` partners, with repetition, and each edge is stored at both ends, so
    nearly all nodes are reachable from any node, and their degrees differ.
    """
    below = random.below
    edges = [[] for _ in range(nodes)]
    for node in range(nodes):
        for _ in range(degree // 2 - 1 + below(3)):
            partner = below(nodes)
            weight = 1 + below(10)
            edges[node].append(f"{partner} {weight}")
            edges[partner].append(f"{node} {weight}")
    source = below(nodes)

    def text():
        yield str(nodes)
        start = 0
        for own in edges:
            yield f"{start} {len(own)}"
            start += len(own)
        yield from ("", str(source), "", str(start))
        yield from chain.from_iterable(edges)

    return lines(text())


def field(low, span):
    """Returns a generator of one number per line for each cell of a field, uniform in `[low, low + span)` millionths."""

    def cells(random, rows: EXTENT, columns: EXTENT, layers: EXTENT = 1):
        return lines(decimal(low + random.below(span)) for _ in range(rows * columns * layers))

    return cells


def random_fractions(random, count: COUNT):
    return lines(decimal(random.below(MILLION)) for _ in range(count))


def key_list(random, count: COUNT):
    """Writes the count, then the numbers below it in random order."""
    keys = list(range(count))
    shuffle(keys, 0, count, random)
    return lines(map(str, [count] + keys))


def shuffle(numbers, start, end, random):
    for last in range(end - 1, start, -1):
        other = start + random.below(last - start + 1)
        numbers[last], numbers[other] = numbers[other], numbers[last]


def feature_table(random, rows: COUNT, features: range(1, 65)):
    """Writes numbered rows of features from 0 to 1, scattered around eight centres."""
    below = random.below
    centres = [[below(900_000) for _ in range(features)] for _ in range(8)]

    def row(number):
        centre = centres[below(8)]
        return " ".join([str(number)] + ["0.%06d" % (feature + below(100_000)) for feature in centre])

    return lines(map(row, range(1, rows + 1)))


def tetrahedral_mesh(random, elements: COUNT):
    """Writes the number of elements; for each its volume, and for each of its four faces the neighbour (from 1; 0 for the wing,
    -1 for the far field) and the outward normal, whose length is the face's area.

    Cubes with edges of 0.1 are each split into six tetrahedra along the paths from one corner to the opposite one (Kuhn's
    triangulation), which fit together across cubes. The downstream border, at the largest x, is the wing. Element
    numbers are shuffled within windows, because mesh generators number elements neither sequentially nor randomly.
    """
    paths = [(0, 1, 2), (0, 2, 1), (1, 0, 2), (1, 2, 0), (2, 0, 1), (2, 1, 0)]
    cubes = -(-elements // 6)
    side = next(side for side in range(1, cubes + 1) if side**3 >= cubes)

    def neighbour_of(cube, axis, step):
        """Returns the next cube along an axis, or `None` at the grid's border. The grid is square and as high as necessary."""
        other = list(cube)
        other[axis] += step
        return other if other[axis] >= 0 and (axis == 2 or other[axis] < side) else None

    def element(cube, path):
        """Returns the element of a cube along a path, or `None` past the end of the mesh."""
        if cube is None:
            return None
        x, y, z = cube
        number = ((z * side + y) * side + x) * 6 + paths.index(path)
        return number if number < elements else None

    order = list(range(elements))
    for start in range(0, elements, 1024):
        shuffle(order, start, min(start + 1024, elements), random)
    numbers = [0] * elements
    for number, index in enumerate(order):
        numbers[index] = number + 1

    def row(tetrahedron):
        place = tetrahedron // 6
        cube = (place % side, place // side % side, place // side // side)
        a, b, c = paths[tetrahedron % 6]
        above = neighbour_of(cube, a, 1)
        # Neighbour, and the axes along which the normal points up and down.
        faces = [
            (element(above, (b, c, a)), a, None),
            (element(cube, (b, a, c)), b, a),
            (element(cube, (a, c, b)), c, b),
            (element(neighbour_of(cube, c, -1), (c, a, b)), None, c),
        ]
        text = ["0.000166667"]
        for index, (neighbour, up, down) in enumerate(faces):
            is_wing = index == 0 and a == 0 and above is None
            border = "0" if is_wing else "-1"
            text.append(border if neighbour is None else str(numbers[neighbour]))
            text += ["0.005" if axis == up else "-0.005" if axis == down else "0" for axis in range(3)]
        return " ".join(text)

    return lines(chain([str(elements)], map(row, order)))


SIDE = range(64, 4097)


def cell_video(random, width: SIDE, height: SIDE, frames: range(1, 1001), cells: range(257), noise: range(65)):
    """Writes an uncompressed AVI in shades of grey, one byte per pixel, with an index: bright discs with soft edges, like cells
    under a microscope, drift over a background whose noise spans `noise` shades. All arithmetic uses integers.
    """
    size = width * height

    def chunk(name, *words):
        return name + struct.pack(f"<{len(words) + 1}I", 4 * len(words), *words)

    def listed(kind, content):
        return b"LIST" + struct.pack("<I", 4 + len(content)) + kind + content

    rate = 25
    main = chunk(b"avih", MILLION // rate, min(size * rate, 0xFFFFFFFF), 0, 0x10, frames, 0, 1, size, width, height, 0, 0, 0, 0)
    kind = struct.unpack("<2I", b"vidsDIB ")
    stream = chunk(b"strh", *kind, 0, 0, 0, 1, rate, 0, frames, size, 0xFFFFFFFF, 0, 0, width | height << 16)
    # One 8-bit plane, uncompressed.
    shape = chunk(b"strf", 40, width, height, 1 | 8 << 16, 0, size, 0, 0, 0, 0)
    headers = listed(b"hdrl", main + listed(b"strl", stream + shape))
    movie = 4 + frames * (8 + size)
    yield b"RIFF" + struct.pack("<I", 4 + len(headers) + 8 + movie + 8 + 16 * frames) + b"AVI " + headers
    yield b"LIST" + struct.pack("<I", movie) + b"movi"

    period, radius, radii, edge, bright = 64, 9, 4, 4, 110
    ground = [bytes(70 + random.below(noise + 1) for _ in range(period)) for _ in range(period)]
    discs = []
    for _ in range(cells):
        # Keeps discs apart if there is room.
        for _ in range(100):
            x, y = width // 8 + random.below(width * 3 // 4), height * 2 // 5 + random.below(height // 4)
            reach = radius + random.below(radii)
            if all((x - u) ** 2 + (y - v) ** 2 >= (5 * (radius + radii)) ** 2 for u, v, _ in discs):
                break
        discs.append((x, y, reach))

    def light(radius, square):
        """Returns a disc's brightness at this squared distance from its centre; the edge fades in steps of 1/16 pixel."""
        beyond = min(max(isqrt(square * 256) - radius * 16, 0), edge * 16)
        return bright * (edge * 16 - beyond) // (edge * 16)

    lights = {
        radius: [(dx, dy, light(radius, dx * dx + dy * dy)) for dx, dy in product(range(-radius - edge, radius + edge + 1), repeat=2)]
        for _, _, radius in discs
    }
    for number in range(frames):
        # The background drifts by one pixel every two frames, each disc by one pixel per frame.
        shift = number // 2 % period
        rows = [(row * (width // period + 2))[shift : shift + width] for row in ground]
        frame = bytearray(b"".join(rows[y % period] for y in range(height)))
        for x, y, radius in discs:
            x = (x + number) % width
            for dx, dy, amount in lights[radius]:
                if 0 <= x + dx < width and 0 <= y + dy < height:
                    pixel = (y + dy) * width + x + dx
                    frame[pixel] = min(frame[pixel] + amount, 255)
        yield b"00db" + struct.pack("<I", size) + frame
    # Offsets are relative to the word `movi`; each frame is a key frame.
    index = (word for number in range(frames) for word in (0x10, 4 + number * (8 + size), size))
    index = struct.pack(f"<{3 * frames}I", *index)
    yield b"idx1" + struct.pack("<I", 16 * frames)
    yield b"".join(b"00db" + index[entry : entry + 12] for entry in range(0, len(index), 12))


def random_bytes(random, bytes: range(1, (1 << 40) + 1)):
    """Writes uniformly distributed bytes."""
    while bytes > 0:
        piece = array("I", islice(random.words, 1 << 16)).tobytes()[:bytes]
        bytes -= len(piece)
        yield piece


def cells_fit(rows, columns, layers=1):
    return "" if rows * columns * layers in EXTENT else f"rows × columns × layers is above {EXTENT[-1]}"


def frames_fit(width, height, frames, **_):
    if width * height % 2:
        return "width × height is odd, so AVI would pad each frame"
    return "" if width * height * frames < 1 << 31 else "width × height × frames is 2 GiB or more"


KELVIN = field(320 * MILLION, 20 * MILLION)
# Generators, each with the rule for combinations of its parameters.
GENERATORS = {
    "bfs-graph": (bfs_graph, None),
    "hotspot-temperature": (KELVIN, cells_fit),
    "hotspot-power": (field(0, 3_000), cells_fit),
    "hotspot3d-temperature": (KELVIN, cells_fit),
    "hotspot3d-power": (field(0, MILLION), cells_fit),
    "key-list": (key_list, None),
    "random-fractions": (random_fractions, None),
    "feature-table": (feature_table, None),
    "tetrahedral-mesh": (tetrahedral_mesh, None),
    "cell-video": (cell_video, frames_fit),
    "random-bytes": (random_bytes, None),
}


def parse(name, words):
    """Returns the generator with this name, and its checked seed and parameters."""
    if name not in GENERATORS:
        raise Refused(f"generator `{name}` does not exist; expected one of {', '.join(GENERATORS)}")
    make, rule = GENERATORS[name]
    ranges = make.__annotations__
    given = {key: int(value) for key, value in (word.split("=") for word in words)}
    seed = given.pop("seed")
    for key, value in given.items():
        if key not in ranges:
            raise Refused(f"generator `{name}` has no parameter `{key}`; its parameters are: {', '.join(ranges)}")
        if value not in ranges[key]:
            step = "" if ranges[key].step == 1 else f" in steps of {ranges[key].step}"
            raise Refused(f"`{key}` of generator `{name}` is {value}; expected {ranges[key][0]} to {ranges[key][-1]}{step}")
    optional = len(make.__defaults__ or ())
    for key in list(ranges)[: len(ranges) - optional]:
        if key not in given:
            raise Refused(f"generator `{name}` requires parameter `{key}`; its parameters are: {', '.join(ranges)}")
    if problem := rule and rule(**given):
        raise Refused(f"generator `{name}`: {problem}")
    return make, seed, given


def main(arguments):
    check = arguments[:1] == ["--check"]
    name, *words = arguments[check:]
    try:
        make, seed, given = parse(name, words)
        if check:
            return 0
        for piece in make(Random(seed), **given):
            sys.stdout.buffer.write(piece)
        sys.stdout.buffer.flush()
    except Refused as refused:
        print(refused, file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
