// Lifting steps of the reversible CDF 5/3: integers, rounding, sums that wrap around.
//
// Maths (ISO/IEC 15444-1, annex F.3.8.2): predict  d -= floor((left + right) / 2)
//                                         update   s += floor((left + right + 2) / 4)
//   and the other way round to take them `back`.

int predicted(int value, int left, int right, bool back)
{
    uint step = (int)((uint)left + (uint)right) >> 1;
    return (int)(back ? (uint)value + step : (uint)value - step);
}

int updated(int value, int left, int right, bool back)
{
    uint step = (int)((uint)left + (uint)right + 2u) >> 2;
    return (int)(back ? (uint)value - step : (uint)value + step);
}
