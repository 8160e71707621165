using System;

namespace UnityEngine
{
    public struct Vector4
    {
        public float x, y, z, w;

        public Vector4(float x, float y, float z, float w)
        {
            this.x = x;
            this.y = y;
            this.z = z;
            this.w = w;
        }

        public override string ToString()
        {
            return FormattableString.Invariant($"({x}, {y}, {z}, {w})");
        }
    }
}
